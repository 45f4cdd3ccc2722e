/*
 * Draw a map with Leaflet when the reader asks for it: its files are large, and tiles may come from
 * another site.
 */
"use strict";

(() => {
    const POINT_RADIUS = 5;
    const MAX_CLUSTER_RADIUS = 20;
    const MAX_ZOOM = 19;
    const MAX_FIRST_ZOOM = 14;

    function loadFile(address) {
        return new Promise((resolve, reject) => {
            const isStyle = address.split("?")[0].endsWith(".css");
            const element = document.createElement(isStyle ? "link" : "script");
            element.addEventListener("load", resolve);
            element.addEventListener("error", () => reject(new Error(address)));
            if (isStyle) {
                element.rel = "stylesheet";
                element.href = address;
            } else {
                element.src = address;
            }
            document.head.append(element);
        });
    }

    function drawPlace(place, largest, language) {
        const { L } = window;
        const share = largest > 1 ? Math.sqrt(place.count / largest) : 0;
        const radius = POINT_RADIUS + (MAX_CLUSTER_RADIUS - POINT_RADIUS) * share;
        const layers = place.points.map((each) => L.circleMarker(each, { radius, weight: 1 }));
        layers.push(...place.lines.map((each) => L.polyline(each, { weight: 2 })));
        if (place.areas.length) {
            layers.push(L.polygon(place.areas, { weight: 2 }));
        }
        const title = document.createElement("bdi");
        title.textContent = place.title;
        if (language) {
            title.lang = language;
        }
        return L.featureGroup(layers)
            .bindTooltip(title)
            .on("click", () => window.location.assign(place.link));
    }

    /** Keep the link to the records in view true while the reader moves the map. */
    function followView(map, link) {
        const { latitude, longitude, question } = link.dataset;
        const update = () => {
            const view = map.getBounds();
            const parameters = new URLSearchParams(question);
            // With four decimals, no language reads a point as a separator of thousands.
            parameters.append(`from.${latitude}`, view.getSouth().toFixed(4));
            parameters.append(`to.${latitude}`, view.getNorth().toFixed(4));
            parameters.append(`from.${longitude}`, view.getWest().toFixed(4));
            parameters.append(`to.${longitude}`, view.getEast().toFixed(4));
            link.href = `?${parameters}`;
        };
        map.on("moveend", update);
        update();
        link.hidden = false;
    }

    async function drawMap(container, { language, places }, button) {
        const { L } = window;
        container.className = "datastore-leaflet";
        const map = L.map(container, { maxZoom: MAX_ZOOM });
        map.attributionControl.setPrefix("");
        const { tiles, attribution } = button.dataset;
        if (tiles) {
            L.tileLayer(tiles, { attribution, maxZoom: MAX_ZOOM }).addTo(map);
        }
        const largest = Math.max(...places.map((place) => place.count));
        const layers = places.map((place) => drawPlace(place, largest, language));
        const group = L.featureGroup(layers).addTo(map);
        map.fitBounds(group.getBounds(), { maxZoom: MAX_FIRST_ZOOM });
        for (const link of document.querySelectorAll("[data-question]")) {
            followView(map, link);
        }
    }

    async function draw(figure, button) {
        for (const address of button.dataset.files.split(" ")) {
            await loadFile(address);
        }
        const response = await fetch(button.dataset.source);
        if (!response.ok) {
            throw new Error(response.statusText);
        }
        const source = await response.json();
        const container = document.createElement("div");
        const before = [...figure.childNodes];
        figure.replaceChildren(container);
        try {
            await drawMap(container, source, button);
        } catch (error) {
            figure.replaceChildren(...before);
            throw error;
        }
        button.remove();
    }

    for (const button of document.querySelectorAll("[data-draw]")) {
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
