"use strict";

// Django's own function drops the letters that it does not know: most of Vietnamese, such as “ố”.
{
    const { URLify } = window;
    const plain = (letter) => ({ đ: "d", Đ: "D" })[letter] ?? letter.normalize("NFD")[0];
    window.URLify = (text, ...others) =>
        URLify(text.normalize().replace(/\p{Script=Latin}/gu, plain), ...others);
}
