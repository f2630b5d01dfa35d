
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const LEVELS = 10;
const SYMBOLS = new Map([["\n", "↵"], ["\t", "⇥"]]);
const STUCK = /^ [^ ]/; // a space that no line may end with, as its word is of the same token
const UNSEEN = /([\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800])/u;

// Text enters the page here and nowhere else: as text nodes, with what cannot be seen made visible.
function make(tag, parent, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.append(text);
  parent.append(element);
  return element;
}

function write(text, parent, breaks) {
  if (/^\p{M}/u.test(text)) text = "◌" + text; // a mark that would stand on the token before
  if (STUCK.test(text)) {
    make("i", parent, "space", "\u00a0");
    text = text.slice(1);
  }
  for (const part of text.split(UNSEEN)) {
    if (part === " ") make("i", parent, "space", " ");
    else if (SYMBOLS.has(part)) make("i", parent, "", SYMBOLS.get(part) + (breaks && part === "\n" ? "\n" : ""));
    else if (UNSEEN.test(part)) {
      make("i", parent, "code", "U+" + part.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"));
    } else if (part) parent.append(part);
  }
  return parent;
}

const number = (x) => (x === 0 ? "0" : Math.abs(x) < 1e-3 ? x.toExponential(1) : x.toPrecision(3));
