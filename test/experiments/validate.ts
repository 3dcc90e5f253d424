// Compares p95s of lab and model: `node tools/node24.mjs test/experiments/validate.ts`. Needs the machine for
// itself. Exit code 1 if a point is off by more than the tolerance and its statistical error.
import { parseArgs } from "node:util";
import {
  type Comparison,
  LINK_KINDS,
  type LinkKind,
  LOADS,
  validateGrounds,
  type Validation,
} from "@isochrone/experiments/testing";

const TOLERANCE = 0.15;

const { values } = parseArgs({
  options: {
    scale: { type: "string", default: "4" },
    "other-scale": { type: "string", default: "8" },
    seconds: { type: "string", default: "150" },
    rtts: { type: "string", default: "10,100" },
    loads: { type: "string", default: Object.keys(LOADS).join(",") },
    links: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
if (values.links !== undefined && !LINK_KINDS.includes(values.links as LinkKind))
  throw new RangeError(`--links must be one of ${LINK_KINDS.join(", ")}, got ${values.links}`);

const stop = new AbortController();
process.once("SIGINT", () => stop.abort(new Error("interrupted")));

const validation = await validateGrounds({
  scale: Number(values.scale),
  otherScale: Number(values["other-scale"]),
  seconds: Number(values.seconds),
  loads: values.loads.split(",") as (keyof typeof LOADS)[],
  rttsMs: values.rtts.split(",").map(Number),
  ...(values.links === undefined ? {} : { links: values.links as LinkKind }),
  signal: stop.signal,
  say: (text) => console.error(text),
});
console.log(values.json ? JSON.stringify(validation) : table(validation));
const off = validation.comparisons.filter(({ deviation }) => Math.abs(deviation) > TOLERANCE);
for (const { point, scale } of off)
  console.error(`${point} at scale ${scale} is off by more than ${TOLERANCE * 100} %`);
process.exitCode = off.length === 0 ? 0 : 1;

function table({ lab, hopMs, comparisons }: Validation): string {
  const facts = Object.entries(lab).map(([name, value]) => `${name}: ${value}`);
  const hops = Object.entries(hopMs).map(([scale, ms]) => `scale ${scale}: ${ms.toFixed(3)} ms a message`);
  return [
    ...facts,
    ...hops,
    "",
    "| point | scale | requests | failed | lab p50 | model p50 | lab p95 | model p95 | deviation | chance (1 sd) |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ...comparisons.map(row),
  ].join("\n");
}

function row(each: Comparison): string {
  const ms = (value: number): string => value.toFixed(1);
  const percent = (value: number): string => `${(value * 100).toFixed(1)} %`;
  const { point, scale, requests, failed, labP50, modelP50, labP95, modelP95, deviation, chance } = each;
  const cells = [ms(labP50), ms(modelP50), ms(labP95), ms(modelP95), percent(deviation), percent(chance)];
  return `| ${[point, scale, requests, failed, ...cells].join(" | ")} |`;
}
