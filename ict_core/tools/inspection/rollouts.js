
const AT_ONCE = 24;
const VERDICTS = { all: () => true, right: (r) => r > 0, wrong: (r) => r !== null && r <= 0, "not graded": (r) => r === null };
const SHADES = {
  "1 − p": ["1 − p under the policy that sampled: white 0, darkest 1", (r, t) => -Math.expm1(r.logprob[t])],
  weight: ["weight in the update: white 0, darkest the largest", (r, t) => weight(r, t) / heaviest],
};
const weight = (r, t) => (Array.isArray(r.weight) ? r.weight[t] : r.weight);
const heaviest = data.rollouts.reduce((most, r) => r.ids.reduce((m, _, t) => Math.max(m, weight(r, t)), most), 1);
const signed = (x) => x.toFixed(2).replace("-", "−");

const header = make("header", document.body);
make("h1", header, "", "Training rollouts of " + data.title);
for (const fact of data.facts) make("p", header, "facts", fact);
const chart = drawChart(make("figure", header));
const controls = make("div", document.body, "controls");
const main = make("main", document.body);
let left = [];
let lastGroup = "";

function select(label, options) {
  const box = make("select", make("label", controls, "", label + " "));
  for (const [value, text] of options) make("option", box, "", text).value = value;
  box.setAttribute("aria-label", label);
  box.addEventListener("change", draw);
  return box;
}

const kept = [...new Set(data.rollouts.map((r) => r.step))];
const step = select("Step", [["", "all shown"], ...kept.map((s) => [s, s])]);
for (const [text, by] of [["◀", -1], ["▶", 1]]) {
  const button = make("button", controls, "", text);
  button.setAttribute("aria-label", by < 0 ? "step before" : "next step");
  button.addEventListener("click", () => choose(Math.min(kept.length, Math.max(1, step.selectedIndex + by))));
}
const problem = select("Problem", [["", "all"], ...data.problems.map((p, i) => [i, `${p[0]}, ${p[1]}`])]);
const reward = select("Reward", Object.keys(VERDICTS).map((name) => [name, name]));
const shade = select("Shade by", Object.keys(SHADES).map((name) => [name, name]));
const legend = make("span", controls, "legend");
const count = make("p", main, "facts");
const list = make("div", main, "rollouts");
const more = make("button", main, "", "Show more");
more.addEventListener("click", drawMore);

function choose(index) {
  step.selectedIndex = index;
  draw();
}

// The mean reward of every step, over its lowest and highest, and the mean length below: a step is chosen by a click.
function drawChart(parent) {
  const [width, height] = [720, 150];
  const svg = shape("svg", parent, { viewBox: `0 0 ${width} ${height + 16}`, class: "chart", role: "img" });
  svg.setAttribute("aria-label", "Mean reward and mean length by step");
  const x = (i) => (data.steps.length < 2 ? width / 2 : 8 + ((width - 16) * i) / (data.steps.length - 1));
  for (const [key, top] of [["reward", 0], ["length", height / 2]]) {
    const all = data.steps.map((s) => s[key]).filter((v) => v !== null);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const y = (v) => top + height / 2 - 6 - (high > low ? (v - low) / (high - low) : 0.5) * (height / 2 - 26);
    const points = data.steps.map((s, i) => [s[key], i]).filter(([v]) => v !== null);
    shape("polyline", svg, { points: points.map(([v, i]) => `${x(i)},${y(v)}`).join(" "), class: "line" });
    shape("text", svg, { x: 4, y: top + 12 }).append(`mean ${key}, ${number(low)} to ${number(high)}`);
  }
  shape("text", svg, { x: 4, y: height + 13 }).append(`step ${data.steps[0].step}`);
  const last = shape("text", svg, { x: width - 4, y: height + 13, "text-anchor": "end" });
  last.append(`step ${data.steps[data.steps.length - 1].step}`);
  const mark = shape("line", svg, { y1: 0, y2: height, class: "mark" });
  svg.addEventListener("click", (event) => {
    const at = (event.clientX - svg.getBoundingClientRect().left) * (width / svg.getBoundingClientRect().width);
    const near = (s) => Math.abs(x(data.steps.findIndex((one) => one.step === s)) - at);
    choose(1 + kept.indexOf(kept.reduce((a, b) => (near(b) < near(a) ? b : a))));
  });
  return (chosen) => {
    const at = data.steps.findIndex((s) => String(s.step) === chosen);
    mark.setAttribute("visibility", at < 0 ? "hidden" : "visible");
    for (const end of ["x1", "x2"]) mark.setAttribute(end, at < 0 ? 0 : x(at));
  };
}

function shape(tag, parent, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent.append(element);
  return element;
}

function draw() {
  chart(step.value);
  left = data.rollouts.filter((r) =>
    (step.value === "" || String(r.step) === step.value) &&
    (problem.value === "" || String(r.problem) === problem.value) &&
    VERDICTS[reward.value](r.reward));
  const right = left.filter((r) => r.reward > 0).length;
  count.textContent = `${left.length.toLocaleString("en")} rollouts, ${right.toLocaleString("en")} of them with a reward above 0`;
  legend.replaceChildren();
  legend.append(SHADES[shade.value][0]);
  make("span", legend, "t k", "kept by the rule");
  list.replaceChildren();
  lastGroup = "";
  drawMore();
}

function drawMore() {
  left.splice(0, AT_ONCE).forEach(drawRollout);
  more.hidden = !left.length;
}

function drawRollout(r) {
  const [benchmark, name, prompt, answer] = data.problems[r.problem];
  if (lastGroup !== (lastGroup = `${r.step} ${r.group}`)) {
    const head = make("div", list, "group");
    make("h2", head, "", `Step ${r.step}, ${benchmark}, ${name}`);
    if (prompt !== null) {
      write(prompt, make("p", head, "source"), true);
      write(answer, make("p", head, "source", "Expected: "), true);
    }
  }
  const box = make("article", list, "rollout");
  const verdict = r.reward === null ? "? not graded" : r.reward > 0 ? "✓ right" : "✗ wrong";
  const heading = make("h3", box);
  make("b", heading, "", `Rollout ${r.rollout + 1}: ${verdict}`);
  const on = r.ids.filter((_, t) => weight(r, t) > 0).length;
  const facts = [r.reward === null ? "no reward" : `reward ${r.reward}`, `A ${signed(r.advantage)}`];
  facts.push(`${r.ids.length} tokens`, `${on} kept`, ...(r.truncated ? ["cut at the limit"] : []));
  heading.append(`, ${facts.join(", ")}`);
  const text = make("div", box, "text");
  r.ids.forEach((id, t) => {
    if (STUCK.test(data.vocabulary[id])) text.append("\u200b"); // where the line may break
    const level = Math.ceil(LEVELS * Math.min(1, SHADES[shade.value][1](r, t)) - 1e-9);
    const token = write(data.vocabulary[id], make("span", text, `t l${level}${weight(r, t) > 0 ? " k" : ""}`), true);
    token.title = `token ${id}, ln p ${number(r.logprob[t])}, weight ${number(weight(r, t))}`;
  });
}

choose(data.steps.length ? 1 : 0);
