vcl 4.1;

# Varnish in front of a portal: it keeps public answers until the portal purges them.
#
# /etc/varnish/default.vcl. Change the lines that are marked with "change". The tests run Varnish with
# this file; docs/how-to/put-a-cache-in-front.md explains it. It needs no module beside Varnish's own.

import std;

backend portal {
    .host = "127.0.0.1";                # change: where granian or gunicorn listens
    .port = "8000";                     # change
    .connect_timeout = 5s;
    .first_byte_timeout = 250s;         # longer than four DATASTORE_SEARCH_STATEMENT_TIMEOUT
    .between_bytes_timeout = 60s;
}

# The machines that the portal's processes run on.
acl portals {
    "127.0.0.1";                        # change
    "::1";
}

# A server of WSGI names X_Forwarded_For and X-Forwarded-For alike, so a client could set what only a
# proxy may set. VCL has no pattern for names: add the headers that your portal reads. With the package
# varnish-modules and "import header;" one line removes every name with "_":
#     header.regsub(req, "^[^:]*_[^:]*:.*$", "");
sub remove_forged_headers {
    # Read by Django or gunicorn, and set by no proxy here.
    unset req.http.X-Forwarded-Host;
    unset req.http.X-Forwarded-Port;
    unset req.http.X-Forwarded-Protocol;
    unset req.http.X-Forwarded-Ssl;
    unset req.http.SCRIPT_NAME;
    unset req.http.PATH_INFO;
    # The same, and those that proxies, clients and the portal do use, under names with "_".
    unset req.http.X-Forwarded_For; unset req.http.X_Forwarded-For; unset req.http.X_Forwarded_For;
    unset req.http.X-Forwarded_Host; unset req.http.X_Forwarded-Host; unset req.http.X_Forwarded_Host;
    unset req.http.X-Forwarded_Port; unset req.http.X_Forwarded-Port; unset req.http.X_Forwarded_Port;
    unset req.http.X-Forwarded_Proto; unset req.http.X_Forwarded-Proto; unset req.http.X_Forwarded_Proto;
    unset req.http.X-Forwarded_Protocol; unset req.http.X_Forwarded-Protocol; unset req.http.X_Forwarded_Protocol;
    unset req.http.X-Forwarded_Ssl; unset req.http.X_Forwarded-Ssl; unset req.http.X_Forwarded_Ssl;
    unset req.http.X-Forwarded_Prefix; unset req.http.X_Forwarded-Prefix; unset req.http.X_Forwarded_Prefix;
    unset req.http.X-Real_IP; unset req.http.X_Real-IP; unset req.http.X_Real_IP;
    unset req.http.X-Script_Name; unset req.http.X_Script-Name; unset req.http.X_Script_Name;
    unset req.http.X-Request_ID; unset req.http.X_Request-ID; unset req.http.X_Request_ID;
    unset req.http.X-CKAN-API_Key; unset req.http.X-CKAN_API-Key; unset req.http.X-CKAN_API_Key;
    unset req.http.X_CKAN-API-Key; unset req.http.X_CKAN-API_Key; unset req.http.X_CKAN_API-Key;
    unset req.http.X_CKAN_API_Key;
    unset req.http.Accept_Encoding;
    unset req.http.Accept_Language;
    unset req.http.If_Match;
    unset req.http.If-Modified_Since; unset req.http.If_Modified-Since; unset req.http.If_Modified_Since;
    unset req.http.If-None_Match; unset req.http.If_None-Match; unset req.http.If_None_Match;
    unset req.http.If_Range;
    unset req.http.If-Unmodified_Since; unset req.http.If_Unmodified-Since; unset req.http.If_Unmodified_Since;
    unset req.http.Remote_User;
    unset req.http.X_CSRFToken;
}

sub vcl_recv {
    if (req.method == "PURGE") {
        # A request that another proxy passes on has more addresses in X-Forwarded-For.
        if (client.ip !~ portals || req.http.X-Forwarded-For != "" + client.ip) {
            return (synth(405));
        }
        if (std.ban("obj.http.Surrogate-Key ~ ^("
                + regsuball(req.http.Surrogate-Key, " ", "|") + ")$")) {
            return (synth(200, "Purged"));
        }
        return (synth(400, std.ban_error()));
    }
    call remove_forged_headers;
    # change: unset req.http.X-Forwarded-Proto;    (unless a proxy of yours in front sets it)

    if (req.method != "GET" && req.method != "HEAD") {
        return (pass);
    }
    # The portal reads the body of a GET, which is not in the key.
    if (req.http.Content-Length || req.http.Transfer-Encoding) {
        return (pass);
    }
    # Whoever is signed in is answered by the portal.
    if (req.http.Authorization || req.http.X-CKAN-API-Key
            || req.http.Cookie ~ "(^|;\s*)(sessionid|csrftoken|messages)=") {   # change: your names
        return (pass);
    }
    # Other cookies, such as those of statistics, change no answer.
    unset req.http.Cookie;
    return (hash);
}

sub vcl_hash {
    hash_data(req.http.X-Forwarded-Proto);      # answers have addresses; Host is added by Varnish
}

sub vcl_backend_fetch {
    set bereq.http.X-Started = std.time2real(now, 0.0);
    if (bereq.uncacheable) {
        return (fetch);             # with the body of a GET, which Varnish removes otherwise
    }
}

sub vcl_backend_response {
    set beresp.grace = 0s;
    unset beresp.http.X-Slow;
    if (beresp.status != 200 || !beresp.http.Surrogate-Control || beresp.http.Set-Cookie
            || beresp.http.Cache-Control ~ "private|no-store"
            || std.integer(beresp.http.Content-Length, 0) > 10000000) {
        # It is private, an error, a form, or a stream: each client gets its own.
        set beresp.uncacheable = true;
        set beresp.ttl = 120s;
        return (deliver);
    }
    set beresp.ttl = std.duration(
        regsub(beresp.http.Surrogate-Control, "^.*max-age=([0-9]+).*$", "\1s"), 0s);
    set beresp.keep = 1h;
    unset beresp.http.X-Request-ID;
    # A change may have been purged while this answer was made. Of a fast one the second purge
    # comes later; a slow one is kept, and the portal is asked whether it is still valid (304).
    if (now - std.real2time(std.real(bereq.http.X-Started, 0.0), now) > 0.5s) {
        set beresp.ttl = 1ms;
        set beresp.http.X-Slow = "1";
    }
    return (deliver);
}

sub vcl_hit {
    # A request that has waited for a slow answer of another one.
    if (obj.http.X-Slow) {
        if (req.restarts > 0) {
            return (pass);
        }
        return (restart);
    }
}

sub vcl_deliver {
    if (obj.hits > 0) {
        set resp.http.X-Cache = "hit";
    } else {
        set resp.http.X-Cache = "miss";
    }
    unset resp.http.Surrogate-Control;
    unset resp.http.Surrogate-Key;
    unset resp.http.X-Slow;
    unset resp.http.X-Varnish;
    unset resp.http.Via;
}
