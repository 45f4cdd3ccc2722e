/* Keep what is shown of unfinished loads fresh: ask once a second, and not while nobody looks. */
"use strict";

(() => {
    const PAUSE = 1000;
    const PAUSE_AFTER_FAILURE = 5000;
    /** Each so many per cent, and with each state, a screen reader is told. */
    const SAID_EACH = 25;

    const watched = new Map();
    let address = "";
    let timer = 0;

    function collect() {
        for (const element of document.querySelectorAll("[data-datastore-load]")) {
            const id = element.dataset.datastoreLoad;
            watched.set(id, [...(watched.get(id) || []), element]);
            address = element.dataset.datastoreProgress;
        }
    }

    async function ask() {
        const asked = [...watched.keys()].map((id) => `load=${encodeURIComponent(id)}`).join("&");
        const answer = await fetch(`${address}?${asked}`, { headers: { Accept: "application/json" } });
        // A session that has ended is answered by the page to log in.
        if (!answer.ok || answer.redirected) {
            throw new Error(answer.statusText);
        }
        return (await answer.json()).loads;
    }

    function show(element, load) {
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
        showWay(element, load);
        say(element, load);
        if (load.finished) {
            element
                .querySelectorAll("progress, [data-datastore-text], [data-datastore-brief]")
                .forEach((each) => each.remove());
        }
    }

    function showWay(element, load) {
        const steps = [...element.querySelectorAll("[data-datastore-step]")];
        const at = steps.findIndex((step) => step.dataset.datastoreStep === load.state);
        steps.forEach((step, place) => {
            step.classList.toggle("over", place < at);
            if (place === at) {
                step.setAttribute("aria-current", "step");
            } else {
                step.removeAttribute("aria-current");
            }
        });
    }

    function say(element, load) {
        const said = element.querySelector("[data-datastore-said]");
        const mark = `${load.state} ${Math.floor((load.percentage || 0) / SAID_EACH)}`;
        if (said && said.dataset.mark !== mark) {
            said.dataset.mark = mark;
            said.textContent = [load.label, load.text].filter(Boolean).join(" · ");
        }
    }

    function take(loads) {
        let over = false;
        for (const [id, elements] of watched) {
            const load = loads[id];
            // One that is no longer there has been deleted.
            if (load) {
                elements.forEach((element) => show(element, load));
            }
            if (!load || load.finished) {
                watched.delete(id);
                over ||= elements.some((element) => "datastoreReload" in element.dataset);
            }
        }
        if (over) {
            window.location.reload();
        }
    }

    async function look() {
        timer = 0;
        let pause = PAUSE;
        try {
            take(await ask());
        } catch {
            pause = PAUSE_AFTER_FAILURE;
        }
        go(pause);
    }

    function go(pause) {
        if (!timer && watched.size && !document.hidden) {
            timer = window.setTimeout(look, pause);
        }
    }

    document.addEventListener("DOMContentLoaded", () => {
        collect();
        go(PAUSE);
    });
    document.addEventListener("visibilitychange", () => go(0));
})();
