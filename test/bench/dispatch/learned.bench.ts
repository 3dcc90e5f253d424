// Share of requests in time, on drawn systems outside the training set.
import { byDeadline, byLeastRequest } from "@isochrone/dispatch/endpoints";
import { EndpointPolicy } from "@isochrone/dispatch/learned";
import { shareInTime } from "@isochrone/experiments/testing";
import { readFileSync } from "node:fs";
import type { BenchResult } from "../types.ts";

type Systems = Parameters<typeof shareInTime>[1];
type As = NonNullable<Systems["as"]>;

const SYSTEMS = { seed: 500_000, systems: 60, requests: 2_500 };
const WEIGHTS = new URL("../../../dispatcher/src/endpoint-weights.json", import.meta.url);

const CASES: readonly (readonly [string, As])[] = [
  ["as training draws them", (system) => system],
  ["no reports of load", (system) => ofEach(system, () => ({ isReporting: false }))],
  ["load 0.95", (system) => ({ ...system, load: 0.95 })],
  ["load 1.1", (system) => ({ ...system, load: 1.1 })],
  ["a third of endpoints fails", (system) => ofEach(system, (at) => ({ failing: at % 3 === 1 ? 0.9 : 0 }))],
  ["other zones four times as far", farther],
  ["100 endpoints", (system) => ({ ...system, endpoints: repeated(system.endpoints, 100) })],
];

export function run(): BenchResult[] {
  const learned = EndpointPolicy.read(readFileSync(WEIGHTS, "utf8"), "endpoint-weights.json");
  return CASES.flatMap(([name, as]) => {
    const systems = { ...SYSTEMS, as };
    const rule = shareInTime((...asked) => byDeadline(...asked)!, systems);
    const least = shareInTime((...asked) => byLeastRequest(...asked)!, systems);
    const net = shareInTime((...asked) => learned.choose(...asked)!, systems);
    const unit = "share in time";
    return [
      { name: `deadline, ${name}`, value: rule, unit, peer: "least-request", ratio: rule / least },
      { name: `learned, ${name}`, value: net, unit, peer: "deadline", ratio: net / rule },
    ];
  });
}

type System = Parameters<As>[0];

function ofEach(system: System, change: (at: number) => Partial<System["endpoints"][number]>): System {
  return { ...system, endpoints: system.endpoints.map((one, at) => ({ ...one, ...change(at) })) };
}

function farther(system: System): System {
  return ofEach(system, (at) => {
    const { isFar, roundTripMs } = system.endpoints[at]!;
    return { roundTripMs: isFar ? 4 * roundTripMs : roundTripMs };
  });
}

function repeated(endpoints: System["endpoints"], count: number): System["endpoints"] {
  return Array.from({ length: count }, (_, at) => endpoints[at % endpoints.length]!);
}
