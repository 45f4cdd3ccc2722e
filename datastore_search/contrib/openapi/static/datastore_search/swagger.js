/* The dark mode of Swagger UI, where the reader has chosen one. */
"use strict";

(() => {
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const apply = () => document.documentElement.classList.toggle("dark-mode", scheme.matches);
    scheme.addEventListener("change", apply);
    apply();
})();
