/* Show the progress of unfinished loads: poll once a second while the page is visible. */
"use strict";

(() => {
    const POLL_MS = 1000;
    const POLL_AFTER_FAILURE_MS = 5000;
    /** A screen reader is told of each state, and of every 25 per cent. */
    const ANNOUNCEMENT_STEP_PERCENT = 25;

    const watched = new Map();
    let progressUrl = "";
    let timer = 0;

    function collectElements() {
        for (const element of document.querySelectorAll("[data-datastore-load]")) {
            const id = element.dataset.datastoreLoad;
            watched.set(id, [...(watched.get(id) || []), element]);
            progressUrl = element.dataset.datastoreProgress;
        }
    }

    async function fetchProgress() {
        const query = [...watched.keys()].map((id) => `load=${encodeURIComponent(id)}`).join("&");
        const response = await fetch(`${progressUrl}?${query}`, {
            headers: { Accept: "application/json" },
        });
        // After the session has ended, the response is a redirect to the login page.
        if (!response.ok || response.redirected) {
            throw new Error(response.statusText);
        }
        return (await response.json()).loads;
    }

    function showProgress(element, load) {
        const badge = element.querySelector("[data-datastore-state]");
        if (badge) {
            badge.textContent = load.label;
            badge.className = `datastore-badge datastore-badge-${load.tone}`;
        }
        const progress = element.querySelector("progress");
        if (progress && load.percentage === null) {
            progress.removeAttribute("value");
        } else if (progress) {
            progress.value = load.percentage;
        }
        for (const [selector, text] of [
            ["[data-datastore-text]", load.text],
            ["[data-datastore-brief]", load.brief],
        ]) {
            element.querySelectorAll(selector).forEach((each) => (each.textContent = text));
        }
        showSteps(element, load);
        announce(element, load);
        if (load.finished) {
            element
                .querySelectorAll("progress, [data-datastore-text], [data-datastore-brief]")
                .forEach((each) => each.remove());
        }
    }

    function showSteps(element, load) {
        const steps = [...element.querySelectorAll("[data-datastore-step]")];
        const current = steps.findIndex((step) => step.dataset.datastoreStep === load.state);
        steps.forEach((step, position) => {
            step.classList.toggle("over", position < current);
            if (position === current) {
                step.setAttribute("aria-current", "step");
            } else {
                step.removeAttribute("aria-current");
            }
        });
    }

    function announce(element, load) {
        const status = element.querySelector("[data-datastore-announcement]");
        const mark = `${load.state} ${Math.floor((load.percentage || 0) / ANNOUNCEMENT_STEP_PERCENT)}`;
        if (status && status.dataset.mark !== mark) {
            status.dataset.mark = mark;
            status.textContent = [load.label, load.text].filter(Boolean).join(" · ");
        }
    }

    function update(loads) {
        let isFinished = false;
        for (const [id, elements] of watched) {
            const load = loads[id];
            // A load that is missing has been deleted.
            if (load) {
                elements.forEach((element) => showProgress(element, load));
            }
            if (!load || load.finished) {
                watched.delete(id);
                isFinished ||= elements.some((element) => "datastoreReload" in element.dataset);
            }
        }
        if (isFinished) {
            window.location.reload();
        }
    }

    async function poll() {
        timer = 0;
        let delay = POLL_MS;
        try {
            update(await fetchProgress());
        } catch {
            delay = POLL_AFTER_FAILURE_MS;
        }
        schedulePoll(delay);
    }

    function schedulePoll(delay) {
        if (!timer && watched.size && !document.hidden) {
            timer = window.setTimeout(poll, delay);
        }
    }

    document.addEventListener("DOMContentLoaded", () => {
        collectElements();
        schedulePoll(POLL_MS);
    });
    document.addEventListener("visibilitychange", () => schedulePoll(0));
})();
