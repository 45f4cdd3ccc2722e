/*
 * Ask another question without loading the page again, move columns by drag, fill in the position of
 * the user, and suggest values for the search.  Where something fails, the browser opens the address,
 * as it does without this script.
 */
"use strict";

(() => {
    const TYPING_MS = 200;
    const MIN_LETTERS = 3;
    const VIEW = ".datastore-view";
    const FORMS = `${VIEW} :is(.datastore-search, .datastore-facets)`;
    const PART = ".datastore-facets > details";
    const find = (selector, page = document) => page.querySelector(selector);
    const listen = (name, answer) => document.addEventListener(name, answer);

    // Another question -----------------------------------------------------------------------------

    const status = find(`${VIEW} + [role=status]`);
    let shown = location.search;
    let latest = 0;

    /** Show the view of another page; focus, column, opened part and what is in sight stay. */
    function replaceView(page) {
        const active = document.activeElement;
        const { id, type, name, value } = active;
        const { top } = active.getBoundingClientRect();
        const view = find(VIEW);
        const next = find(VIEW, page);
        const isInside = view.contains(active);
        const controls = [...next.querySelectorAll("input, button")];
        const column = active.closest("th")?.cellIndex;
        const twin =
            controls.find((each) => each.closest("th")?.cellIndex === (column ?? -1)) ??
            controls.find((each) =>
                each.id ? each.id === id : each.type + each.name + each.value === type + name + value,
            );
        find(PART, next)?.toggleAttribute("open", !!find(PART)?.open);
        view.replaceWith(next);
        find(".datastore-tools")?.replaceWith(find(".datastore-tools", page));
        document.title = page.title;
        status.textContent = find("[role=status], h2", next)?.textContent;
        prepareSearch();
        if (isInside && twin) {
            if (id && twin.name === name) {
                twin.value = value; // perhaps typed meanwhile
            }
            twin.focus();
            scrollBy({ top: twin.getBoundingClientRect().top - top, behavior: "instant" });
        } else if (isInside) {
            next.focus({ preventScroll: true });
        }
        document.dispatchEvent(new Event("datastore:view"));
    }

    async function show(address, isNew) {
        latest += 1;
        const mine = latest;
        clearTimeout(timer);
        timer = 0;
        status.textContent = status.dataset.waiting;
        find(".datastore-explorer > :last-child")?.setAttribute("aria-busy", true);
        try {
            const response = await fetch(address);
            const page = new DOMParser().parseFromString(await response.text(), "text/html");
            if (mine !== latest) {
                return;
            }
            replaceView(page); // or fail, where the page has none
            if (isNew) {
                history.pushState(null, "", response.url);
            }
            shown = location.search;
        } catch {
            if (mine === latest) {
                location.assign(address);
            }
        }
    }

    // The parts of a further condition belong together, by their order.
    const isPart = (name) => ["field", "op", "value", "end"].includes(name);

    /** List what a form sends, without what is empty. */
    function listPairs(form, button) {
        const all = [...new FormData(form, button)];
        const hasParts = all.some(([name, value]) => isPart(name) && name !== "op" && value);
        return all.filter(([name, value]) => (isPart(name) ? hasParts : value));
    }

    /** Ask also for what is typed, checked or chosen in a form, and not yet sent or answered. */
    function addChanges(sent, form) {
        const changed = [...form.elements].filter(
            ({ value, options, defaultValue = value, checked, defaultChecked }) => {
                const first = options && ([...options].find((each) => each.defaultSelected) ?? options[0]);
                return value !== (first?.value ?? defaultValue) || checked !== defaultChecked;
            },
        );
        const names = changed.map(({ name }) => name);
        const isSent = (name) => names.includes(name) || (isPart(name) && names.some(isPart));
        names.forEach((name) => sent.delete(name));
        listPairs(form).forEach((pair) => isSent(pair[0]) && sent.append(...pair));
    }

    const findForms = () => [...document.querySelectorAll(FORMS)];

    function send(form, button) {
        const sent = new URLSearchParams(listPairs(form, button));
        if (form.matches(FORMS)) {
            const forms = [...findForms(), ...document.querySelectorAll(`${VIEW} .datastore-chart-form`)];
            forms.filter((each) => each !== form).forEach((each) => addChanges(sent, each));
        }
        show(`${form.action}?${sent}`, true);
    }

    listen("click", ({ target }) => {
        const link = target.closest(".datastore-tabs a");
        if (link) {
            const sent = new URLSearchParams(link.search);
            findForms().forEach((each) => addChanges(sent, each));
            link.search = sent;
        }
    });

    listen("change", ({ target }) => {
        if (target.matches(`${VIEW} .datastore-facets [type=checkbox]`)) {
            send(target.form);
        }
    });
    listen("submit", (event) => {
        const { target, submitter } = event;
        const isQuestion = target.matches(`${VIEW} :is(.datastore-facets, .datastore-search, #ask)`);
        if (isQuestion && !submitter?.hasAttribute("formaction")) {
            event.preventDefault();
            send(target, submitter);
        }
    });
    window.addEventListener("popstate", () => {
        if (location.search !== shown) {
            show(location.pathname + location.search);
        }
    });

    // Filters --------------------------------------------------------------------------------------

    /** A value that is chosen from the offered ones is the whole value, a typed one a part. */
    listen("input", ({ target, inputType }) => {
        if (target.list && /^(contains|field)\./.test(target.name)) {
            const isChosen = !inputType || inputType === "insertReplacementText";
            target.name = target.name.replace(/^\w+/, isChosen ? "field" : "contains");
        }
    });
    listen("click", ({ target }) => {
        if (target.matches("[data-copy]")) {
            const last = [...document.querySelectorAll(target.dataset.copy)].at(-1);
            const copy = last.cloneNode(true);
            copy.querySelectorAll("select, input").forEach((each) => {
                each.value = each.options?.[0].value ?? "";
            });
            last.after(copy);
            copy.querySelector("select").focus();
        }
    });

    // Near here ------------------------------------------------------------------------------------

    listen("click", ({ target }) => {
        if (target.matches("[data-position]")) {
            const { form } = target;
            const fill = ({ coords }) => {
                form.elements.latitude.value = coords.latitude.toFixed(4);
                form.elements.longitude.value = coords.longitude.toFixed(4);
                form.requestSubmit(form.elements.set);
            };
            navigator.geolocation.getCurrentPosition(fill, () => {
                find("[role=status]", form).textContent = target.dataset.position;
            });
        }
    });

    // Menus of headings ----------------------------------------------------------------------------

    /** The menu of a heading at the edge of its table is moved into sight. */
    const showMenu = ({ target }) => {
        if (target.open && target.matches("thead details")) {
            find("ul", target).scrollIntoView({ block: "nearest", inline: "nearest" });
        }
    };
    document.addEventListener("toggle", showMenu, true); // it does not bubble

    // Columns by drag ------------------------------------------------------------------------------

    const MOVE = '[value^="first="]'; // of the button "Move first", which names its column first
    const findHeads = () => [...document.querySelectorAll(`thead th:has(${MOVE})`)];
    const findHead = ({ target }) => findHeads().find((each) => each.contains(target));
    let dragged;

    listen("mouseover", (event) => {
        // On another page of columns, others stand before these.
        if (!find("#ask [name=columns]")) {
            findHead(event)?.setAttribute("draggable", true);
        }
    });
    listen("dragstart", (event) => {
        dragged = findHead(event);
    });
    listen("dragover", (event) => {
        if (dragged && findHead(event)) {
            event.preventDefault();
        }
    });
    listen("dragend", () => {
        dragged = undefined;
    });
    listen("drop", (event) => {
        const heads = findHeads();
        const from = heads.indexOf(dragged);
        const to = heads.indexOf(findHead(event));
        if (from < 0 || to < 0) {
            return;
        }
        event.preventDefault();
        heads.splice(to, 0, ...heads.splice(from, 1));
        const names = heads.slice(0, Math.max(from, to) + 1).map((each) => {
            return ["first", new URLSearchParams(find(MOVE, each).value).get("first")];
        });
        const button = find(MOVE, dragged);
        button.value = new URLSearchParams(names);
        button.click();
    });

    // Values for the search ------------------------------------------------------------------------

    let input;
    let list;
    let index;
    let timer;
    let isAsking;

    /** Show the buttons of scripts; make the search a combobox if the page has a list. */
    function prepareSearch() {
        find("[data-copy]")?.removeAttribute("hidden");
        find("[data-position]")?.toggleAttribute("hidden", !navigator.geolocation);
        list = find("#q-values");
        if (list) {
            input = find("#q");
            input.type = "text"; // a search has no combobox
            input.role = "combobox";
            input.autocomplete = "off";
            input.ariaAutoComplete = "list";
            input.setAttribute("aria-controls", list.id);
            fill([]);
        }
    }

    function fill(values) {
        list.replaceChildren(
            ...values.map((value, n) => {
                const option = document.createElement("li");
                option.role = "option";
                option.id = list.id + n;
                option.dir = "auto";
                option.textContent = value;
                return option;
            }),
        );
        list.hidden = !values.length;
        input.ariaExpanded = !list.hidden;
        mark(-1);
    }

    /** Mark the option that Enter chooses; none for -1. */
    function mark(number) {
        index = number;
        [...list.children].forEach((each, n) => {
            each.ariaSelected = n === index;
        });
        input.setAttribute("aria-activedescendant", index < 0 ? "" : list.id + index);
    }

    function choose(option) {
        input.value = option.textContent;
        fill([]);
    }

    /** Suggest values for what is typed, with one request at a time; after a failure, none. */
    async function suggest() {
        if (isAsking) {
            return;
        }
        isAsking = true;
        let text;
        let values;
        do {
            text = input.value.trim();
            values = new Set();
            for (const address of text.length < MIN_LETTERS ? [] : list.dataset.from.split(" ")) {
                const sent = `${address}&prefix=${encodeURIComponent(text)}`;
                const answer = await (await fetch(sent, { credentials: "omit" })).json();
                answer.result.values.forEach((each) => values.add(each.value));
            }
        } while (text !== input.value.trim());
        isAsking = false;
        fill(timer && input === document.activeElement ? [...values] : []);
    }

    listen("input", ({ target }) => {
        if (list && target === input) {
            clearTimeout(timer);
            timer = setTimeout(suggest, TYPING_MS);
        }
    });
    listen("keydown", (event) => {
        if (!list || list.hidden || event.isComposing) {
            return;
        }
        const { length } = list.children;
        const numbers = { ArrowDown: index + 1, ArrowUp: Math.max(index, 0) + length - 1 };
        const number = numbers[event.key];
        if (number >= 0) {
            event.preventDefault();
            mark(number % length);
        } else if (event.key === "Enter" && index >= 0) {
            choose(list.children[index]); // the form is sent by the same key
        } else if (event.key === "Escape") {
            fill([]);
        }
    });
    listen("focusout", () => list && fill([]));
    listen("mousedown", (event) => {
        if (event.target.role === "option") {
            event.preventDefault(); // the search keeps the focus
            choose(event.target);
            send(input.form);
        }
    });

    prepareSearch();
})();
