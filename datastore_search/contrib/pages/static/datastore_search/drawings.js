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
    const WORLD = [[-90, -180], [90, 180]]; // it is drawn once: beyond it there is nothing

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

    const MAX_NAMES = 40;
    const LETTER = 7;
    const LINE = 20;
    const STEPS = [45, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
    const MAX_LINES = 8;
    const SCALE = 25;
    /* As the drawing of the server: languages of the names, and the zoom that cities need. */
    const LANGUAGES = ["en", "ar", "de", "es", "fr", "pt", "vi"];
    const CITIES_ZOOM = 2.5;
    const CITIES_PER_ZOOM = 40;

    /** Read the lines of an SVG path of outlines as latitudes and longitudes. */
    function readLines(path) {
        return path.getAttribute("d").split("M").slice(1).map((line) => {
            const numbers = line.match(/-?[0-9]+/g);
            const position = [0, 0];
            const positions = [];
            for (let n = 0; n < numbers.length; n += 2) {
                position[0] += Number(numbers[n]) / SCALE;
                position[1] -= Number(numbers[n + 1]) / SCALE;
                positions.push([position[1], position[0]]);
            }
            return positions;
        });
    }

    function addText(group, position, text, className, language) {
        const { L } = window;
        const html = document.createElement("bdi");
        html.textContent = text;
        if (language) {
            html.lang = language;
        }
        const icon = L.divIcon({ className: `datastore-name ${className}`, html, iconSize: [0, 0] });
        L.marker(position, { icon, interactive: false, keyboard: false }).addTo(group);
    }

    /** Draw lines of latitude and longitude over the view, with their degrees at its edges. */
    function drawDegrees(map, group, [north, south, east, west]) {
        const { L } = window;
        const view = map.getBounds();
        const numbers = new Intl.NumberFormat(document.documentElement.lang);
        const write = (degrees, positive, negative) => {
            const side = degrees > 0 ? positive : negative;
            return `${numbers.format(Math.abs(degrees))}°${degrees ? ` ${side}` : ""}`;
        };
        const span = Math.max(view.getEast() - view.getWest(), view.getNorth() - view.getSouth());
        const step = STEPS.findLast((each) => span / each <= MAX_LINES) ?? STEPS[0];
        const list = (low, high, limit) => {
            const first = Math.ceil(Math.max(low, -limit) / step);
            const last = Math.floor(Math.min(high, limit) / step);
            const count = Math.max(0, last - first + 1);
            return Array.from({ length: count }, (_, n) => Number(((first + n) * step).toFixed(4)));
        };
        const draw = (line) =>
            L.polyline(line, { className: "grid", interactive: false, pane: "outlines" }).addTo(group);
        for (const x of list(view.getWest(), view.getEast(), 180)) {
            draw([[view.getSouth(), x], [view.getNorth(), x]]);
            addText(group, [view.getSouth(), x], write(x, east, west), "datastore-longitude");
        }
        for (const y of list(view.getSouth(), view.getNorth(), 85)) {
            draw([[y, view.getWest()], [y, view.getEast()]]);
            addText(group, [y, view.getWest()], write(y, north, south), "datastore-latitude");
        }
    }

    /** Name the countries and cities that have room. */
    function drawNames(map, group, names) {
        const taken = [];
        for (const { position, zoom, text, language, className } of names) {
            if (zoom > map.getZoom() + 0.5 || taken.length === MAX_NAMES) {
                break;
            }
            const { x, y } = map.latLngToContainerPoint(position);
            const half = (text.length * LETTER) / 2;
            const isFree = taken.every(
                (other) => Math.abs(other.x - x) > other.half + half || Math.abs(other.y - y) > LINE,
            );
            if (isFree && map.getBounds().contains(position)) {
                taken.push({ x, y, half });
                addText(group, position, text, className, language);
            }
        }
    }

    function listNames({ countries, cities }) {
        const column = Math.max(0, LANGUAGES.indexOf(document.documentElement.lang.slice(0, 2)));
        const names = countries.map(([x, y, zoom, ...texts]) => ({
            position: [y, x],
            zoom,
            text: texts[column] || texts[0],
            language: texts[column] ? "" : "en",
            className: "",
        }));
        cities.forEach(([x, y, text], rank) => {
            const zoom = CITIES_ZOOM + rank / CITIES_PER_ZOOM;
            const className = "datastore-city";
            names.push({ position: [y, x], zoom, text, language: "en", className });
        });
        return names.sort((a, b) => a.zoom - b.zoom);
    }

    async function drawOutlines(map, { outlines, layers, degrees, tiles }) {
        const { L } = window;
        map.createPane("outlines").style.zIndex = 250;
        let names = [];
        if (!tiles) {
            const text = await (await fetch(outlines)).text();
            const source = new DOMParser().parseFromString(text, "image/svg+xml");
            if (layers.includes("names")) {
                names = listNames(JSON.parse(source.querySelector("metadata").textContent));
            }
            for (const layer of ["land", "borders"].filter((each) => layers.includes(each))) {
                const lines = readLines(source.getElementById(layer));
                const options = { className: layer, interactive: false, pane: "outlines" };
                (layer === "land" ? L.polygon(lines, options) : L.polyline(lines, options)).addTo(map);
            }
        }
        const group = L.layerGroup().addTo(map);
        const update = () => {
            group.clearLayers();
            drawDegrees(map, group, degrees.split(" "));
            drawNames(map, group, names);
        };
        map.on("moveend", update);
        update();
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
        const group = L.featureGroup(layers)
            .bindTooltip(title)
            .on("click", () => window.location.assign(place.link));
        if (place.count > 1) {
            addText(group, place.points[0], place.title, "datastore-count");
        }
        return group;
    }

    function addConditions(parameters, map, { latitude, longitude }) {
        const view = map.getBounds();
        // With four decimals, no language reads a point as a separator of thousands.
        parameters.append(`from.${latitude}`, view.getSouth().toFixed(4));
        parameters.append(`to.${latitude}`, view.getNorth().toFixed(4));
        parameters.append(`from.${longitude}`, view.getWest().toFixed(4));
        parameters.append(`to.${longitude}`, view.getEast().toFixed(4));
        return parameters;
    }

    /** Keep the link to the records in view true while the reader moves the map. */
    function followView(map, link) {
        const update = () => {
            const parameters = new URLSearchParams(link.dataset.question);
            link.href = `?${addConditions(parameters, map, link.dataset)}`;
        };
        map.on("moveend", update);
        update();
        link.hidden = false;
    }

    function drawPlaces(group, { language, places }) {
        const largest = Math.max(...places.map((place) => place.count));
        group.clearLayers();
        places.forEach((place) => drawPlace(place, largest, language).addTo(group));
    }

    /** Read the clusters of the view again whenever the reader has moved or enlarged the map. */
    function followClusters(map, group, link) {
        let latest = 0;
        map.on("moveend", async () => {
            latest += 1;
            const mine = latest;
            const parameters = new URLSearchParams(link.dataset.question);
            parameters.append("format", "places.json");
            try {
                const response = await fetch(`?${addConditions(parameters, map, link.dataset)}`);
                const source = await response.json();
                if (response.ok && mine === latest) {
                    drawPlaces(group, source);
                }
            } catch {
                // The places of the last view stay.
            }
        });
    }

    async function drawMap(container, source, button) {
        const { L } = window;
        container.className = "datastore-leaflet";
        const options = { maxBounds: WORLD, maxZoom: MAX_ZOOM, zoomSnap: 0.5 };
        const map = L.map(container, options);
        map.attributionControl.setPrefix("");
        L.control.scale({ imperial: false, position: "topright" }).addTo(map);
        const { tiles, attribution } = button.dataset;
        if (tiles) {
            L.tileLayer(tiles, { attribution, maxZoom: MAX_ZOOM }).addTo(map);
        }
        const group = L.featureGroup().addTo(map);
        drawPlaces(group, source);
        map.fitBounds(group.getBounds(), { maxZoom: MAX_FIRST_ZOOM });
        await drawOutlines(map, button.dataset);
        for (const link of document.querySelectorAll("[data-question]")) {
            followView(map, link);
            if (source.places.some((place) => place.count > 1)) {
                followClusters(map, group, link);
            }
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

    function prepareButtons() {
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
    }

    prepareButtons();
    document.addEventListener("datastore:view", prepareButtons);
})();
