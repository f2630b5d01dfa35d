
// Quantities of one rollout, an array each.
const p = (r, t) => Math.exp(r.columns.logprob[t]);
const beta = (r, t) => Math.exp(-r.columns.h2[t]);
const DERIVED = {
  p,
  surprise: (r, t) => -Math.expm1(r.columns.logprob[t]),
  distance: (r, t) => Math.abs(p(r, t) - beta(r, t)),
  advantage: (r) => r.advantage,
  gradient: (r, t) => Math.abs(r.advantage) * Math.sqrt(Math.max(0, 1 - 2 * p(r, t) + beta(r, t))),
};
function values(rollout, key) {
  return (rollout.columns[key] ??= rollout.ids.map((_, t) => DERIVED[key](rollout, t)));
}

const rollouts = data.groups.flatMap((group) => group.rollouts);
const labels = Object.fromEntries(data.shades.map(([key, name, meaning, unit]) => [key, { name, meaning, unit }]));
const withUnit = (x, key) => number(x) + (labels[key].unit && " " + labels[key].unit);

// --- the page

function select(parent, label, options) {
  const box = make("select", make("label", parent, "", label + " "));
  for (const [value, text] of options) make("option", box, "", text).value = value;
  box.addEventListener("change", paint);
  return box;
}

const header = make("header", document.body);
make("h1", header, "", "Tokens of " + data.title);
for (const fact of data.facts) make("p", header, "facts", fact);
const controls = make("div", document.body, "controls");
const shadeBy = select(controls, "Shade by", data.shades);
const scaleBy = select(controls, "scale", [["value", "by value"], ["rank", "by rank among all tokens"]]);
const keptBy = select(controls, "Kept by", [...data.rules.map((rule, i) => [i, rule]), [-1, "(no marks)"]]);
const onlyLabel = make("label", controls);
const keptOnly = make("input", onlyLabel);
keptOnly.type = "checkbox";
keptOnly.addEventListener("change", paint);
onlyLabel.append(" shade kept tokens only");
const legend = make("span", controls, "legend");
const main = make("main", document.body);
const tip = make("div", document.body);
tip.id = "tip";
tip.setAttribute("role", "tooltip");
tip.hidden = true;

function drawGroup(group, index) {
  const section = make("section", main);
  make("h2", section, "", `Prompt ${index + 1} of ${data.groups.length}: ${group.benchmark}, ${group.problem}`);
  const problem = make("dl", section, "problem");
  for (const [name, text] of [["Prompt", group.prompt], ["Expected", group.answer]]) {
    make("dt", problem, "", name);
    write(text, make("dd", problem, "source"), true);
  }
  const grid = make("div", section, "rollouts");
  group.rollouts.forEach((rollout, g) => drawRollout(rollout, g, grid));
}

function drawRollout(rollout, g, grid) {
  const box = make("article", grid, "rollout");
  const verdict = rollout.reward === null ? "? not graded" : rollout.reward > 0 ? "✓ correct" : "✗ wrong";
  const heading = make("h3", box);
  make("b", heading, "", `Rollout ${g + 1}: ${verdict}`);
  const reward = rollout.reward === null ? "no reward" : `reward ${rollout.reward}`;
  heading.append(`, ${reward}, A ${rollout.advantage.toFixed(2).replace("-", "−")}, ${rollout.ids.length} tokens`);
  rollout.note = make("span", heading);
  const text = make("div", box, "text");
  text.rollout = rollout;
  const letters = rollout.ids.reduce((sum, id) => sum + data.vocabulary[id].length, 0);
  text.style.setProperty("contain-intrinsic-size", `auto ${25 * (1 + letters / 31)}px`); // until it is laid out
  text.setAttribute("role", "group");
  text.setAttribute("aria-label", `Tokens of rollout ${g + 1}`);
  for (const id of rollout.ids) {
    if (STUCK.test(data.vocabulary[id])) text.append("\u200b"); // where the line may break
    write(data.vocabulary[id], make("span", text, "t"), true);
  }
  rollout.tokens = [...text.children];
  rollout.tokens.forEach((token, t) => { token.position = t; });
  if (rollout.tokens.length) rollout.tokens[0].tabIndex = 0;
  rollout.forkSet = new Set(rollout.forks);
  rollout.keptSets = rollout.kept.map((positions) => new Set(positions));
}

// --- shading: one pass over all tokens

function levels(key) {
  const sorted = Float64Array.from(rollouts.flatMap((rollout) => values(rollout, key))).sort();
  const [low, high] = [sorted[0], sorted[sorted.length - 1]];
  if (low === high) return { low, high, of: () => 0 };
  if (scaleBy.value === "value") return { low, high, of: (x) => Math.ceil((LEVELS * (x - low)) / (high - low)) };
  const below = new Map();
  sorted.forEach((x, i) => { if (!below.has(x)) below.set(x, i); });
  return { low, high, of: (x) => Math.ceil((LEVELS * below.get(x)) / sorted.length) };
}

function paint() {
  hide();
  const key = shadeBy.value;
  const scale = levels(key);
  const rule = Number(keptBy.value);
  for (const rollout of rollouts) {
    const numbers = values(rollout, key);
    const kept = rollout.keptSets[rule];
    rollout.tokens.forEach((token, t) => {
      const keeps = kept?.has(t);
      const level = keptOnly.checked && kept && !keeps ? 0 : scale.of(numbers[t]);
      token.className = `t l${level}${keeps ? " k" : ""}${rollout.forkSet.has(t) ? " f" : ""}`;
    });
    const forks = rollout.forks?.length;
    rollout.note.textContent = kept ? `, ${kept.size} kept` : "";
    if (forks !== undefined) rollout.note.append(`, ${forks} known fork${forks === 1 ? "" : "s"}`);
  }
  drawLegend(scale, key);
}

function drawLegend(scale, key) {
  legend.replaceChildren();
  const count = rollouts.reduce((sum, rollout) => sum + rollout.ids.length, 0).toLocaleString("en");
  make("b", legend, "", labels[key].name);
  legend.append(` ${labels[key].meaning}: lowest ${number(scale.low)}`);
  const bar = make("span", legend, "scale");
  for (let level = 0; level <= LEVELS; level++) make("span", bar, `t l${level}`);
  legend.append(`highest ${withUnit(scale.high, key)}, of ${count} tokens`);
  if (keptBy.value >= 0) make("span", legend, "t k", `kept by ${data.rules[keptBy.value]}`);
  if (rollouts.some((rollout) => rollout.forks !== null)) make("span", legend, "t f", "known fork");
}

// --- what is known of one token

function rank(numbers, t) {
  return 1 + numbers.filter((x) => x > numbers[t]).length;
}

function describe(rollout, t) {
  tip.replaceChildren();
  const line = make("p", tip);
  write(data.vocabulary[rollout.ids[t]], make("code", line));
  line.append(` token ${rollout.ids[t]}, position ${t + 1} of ${rollout.ids.length}`);
  if (rollout.forkSet.has(t)) line.append(", known fork");
  const weighed = (rule, i) => (rollout.weights[i].length ? `${rule} (weight ${number(rollout.weights[i][t])})` : rule);
  const keepers = data.rules.map(weighed).filter((_, i) => rollout.keptSets[i].has(t));
  if (data.rules.length) line.append(keepers.length ? `, kept by ${keepers.join(", ")}` : ", not kept");
  const table = make("table", tip);
  const head = make("tr", table);
  for (const name of ["", "value", `rank of ${rollout.ids.length}`]) make("th", head, "", name);
  const row = (label, text, place, on) => {
    const tr = make("tr", table, on ? "on" : "");
    make("td", tr, "", label);
    make("td", tr, "number", text);
    make("td", tr, "number", place);
  };
  row("β", number(beta(rollout, t)), "");
  for (const [key, name] of data.shades) {
    const numbers = values(rollout, key);
    row(name, withUnit(numbers[t], key), String(rank(numbers, t)), key === shadeBy.value);
  }
  describeLikeliest(rollout, t);
}

function describeLikeliest(rollout, t) {
  if (!rollout.likeliest.length) return;
  const table = make("table", tip, "likeliest");
  make("th", make("tr", table), "", "likeliest tokens here").colSpan = 3;
  const shown = rollout.likeliest[t].map((id, i) => [id, rollout.probabilities[t][i]]);
  if (!rollout.likeliest[t].includes(rollout.ids[t])) shown.push([rollout.ids[t], p(rollout, t)]);
  for (const [id, probability] of shown) {
    const tr = make("tr", table, id === rollout.ids[t] ? "on" : "");
    write(data.vocabulary[id], make("code", make("td", tr)));
    make("td", tr, "number", number(probability));
    const cell = make("td", tr);
    make("span", cell, "bar").style.setProperty("width", `${5 * probability}rem`);
    if (id === rollout.ids[t]) cell.append(" sampled");
  }
}

// --- pointing at a token, by mouse, finger or keyboard

let shown = null;

function siblings(rollout) {
  return data.groups.find((group) => group.rollouts.includes(rollout)).rollouts;
}

function show(token) {
  if (token === shown) return;
  hide();
  const { rollout } = token.parentNode;
  const t = token.position;
  describe(rollout, t);
  for (const other of siblings(rollout)) if (other !== rollout) other.tokens[t]?.classList.add("mate");
  shown = token;
  tip.hidden = false;
  token.setAttribute("aria-describedby", "tip");
  place();
}

function place() {
  const lines = shown.getClientRects(); // several, where the token wraps
  const { left, bottom } = lines[lines.length - 1];
  const box = tip.getBoundingClientRect();
  const under = bottom + 8 + box.height <= innerHeight;
  tip.style.top = `${Math.max(4, under ? bottom + 8 : lines[0].top - 8 - box.height)}px`;
  tip.style.left = `${Math.max(4, Math.min(left, innerWidth - box.width - 8))}px`;
}

function hide() {
  tip.hidden = true;
  if (!shown) return;
  for (const other of siblings(shown.parentNode.rollout)) other.tokens[shown.position]?.classList.remove("mate");
  shown.removeAttribute("aria-describedby");
  shown = null;
}

const tokenAt = (target) => (target instanceof Element ? target.closest(".text .t") : null);

function focusOn(token) {
  for (const other of token.parentNode.querySelectorAll("[tabindex]")) other.removeAttribute("tabindex");
  token.tabIndex = 0;
  token.focus();
}

function neighbour(token, key) {
  const { rollout } = token.parentNode;
  const t = token.position;
  if (key === "ArrowLeft") return rollout.tokens[t - 1];
  if (key === "ArrowRight") return rollout.tokens[t + 1];
  if (key === "Home") return rollout.tokens[0];
  if (key === "End") return rollout.tokens[rollout.tokens.length - 1];
  const group = siblings(rollout);
  const step = { ArrowUp: -1, ArrowDown: 1 }[key];
  const other = step && group[group.indexOf(rollout) + step];
  return other && other.tokens[Math.min(t, other.tokens.length - 1)];
}

main.addEventListener("mouseover", (event) => {
  const token = tokenAt(event.target);
  if (token) show(token);
  else hide();
});
main.addEventListener("mouseleave", hide);
main.addEventListener("click", (event) => {
  const token = tokenAt(event.target);
  if (token) focusOn(token);
});
main.addEventListener("focusin", (event) => {
  const token = tokenAt(event.target);
  if (token) show(token);
});
main.addEventListener("focusout", hide);
addEventListener("keydown", (event) => {
  const token = tokenAt(event.target);
  if (event.key === "Escape") hide();
  const next = token && neighbour(token, event.key);
  if (!next) return;
  event.preventDefault();
  focusOn(next);
});
addEventListener("scroll", () => (shown && shown === document.activeElement ? place() : hide()), { passive: true });

data.groups.forEach(drawGroup);
paint();
