/* Draw a chart with Vega-Lite when the reader asks for it: its files are large. */
"use strict";

(() => {
    function loadScript(address) {
        return new Promise((resolve, reject) => {
            const script = document.createElement("script");
            script.addEventListener("load", resolve);
            script.addEventListener("error", () => reject(new Error(address)));
            script.src = address;
            document.head.append(script);
        });
    }

    async function draw(figure, button) {
        for (const address of button.dataset.scripts.split(" ")) {
            await loadScript(address);
        }
        const response = await fetch(button.dataset.specification);
        if (!response.ok) {
            throw new Error(response.statusText);
        }
        const { spec } = window.vegaLite.compile(await response.json());
        const container = document.createElement("div");
        // An interpreter in place of eval, and a canvas in place of SVG with styles: the policy of
        // a portal may allow neither.
        const view = new window.vega.View(window.vega.parse(spec, null, { ast: true }), {
            container,
            expr: window.vegaInterpreter.expressionInterpreter,
            hover: true,
            renderer: "canvas",
        });
        await view.runAsync();
        figure.replaceChildren(container);
        button.remove();
    }

    for (const button of document.querySelectorAll("[data-specification]")) {
        const figure = document.querySelector(".datastore-chart");
        const status = button.nextElementSibling;
        button.hidden = false;
        button.addEventListener("click", async () => {
            button.disabled = true;
            try {
                await draw(figure, button);
                status.textContent = status.dataset.drawn;
            } catch {
                status.textContent = status.dataset.failed;
                button.disabled = false;
            }
        });
    }
})();
