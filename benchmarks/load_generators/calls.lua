-- Sends the HTTP messages of a file in turn; before each is a line with its length in bytes.
-- The file is the script's only argument.  The last line of the output is the figures, as JSON.

local messages, index = {}, 0

function init(arguments)
  local file = assert(io.open(arguments[1], "rb"))
  for length in file:lines() do
    messages[#messages + 1] = file:read(tonumber(length))
  end
  file:close()
end

function request()
  index = index % #messages + 1
  return messages[index]
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"median_ms": %f, "p95_ms": %f, "per_second": %f, "count": %d, "failed": %d, "hung_up": %d}',
    latency:percentile(50) / 1000, latency:percentile(95) / 1000,
    summary.requests / (summary.duration / 1e6), summary.requests,
    errors.connect + errors.write + errors.status + errors.timeout, errors.read))
end
