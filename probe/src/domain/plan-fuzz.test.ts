import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { PlanRefusedError } from "../ports/errors.ts";
import { PLAN_REFUSALS, type ProbePlan } from "../ports/ports.ts";
import { isUnusableTarget, parseAddress } from "./ip.ts";
import { parsePlan } from "./plan.ts";

const RULES = { node: "a", maxPeers: 20 };
const ROUNDS = 20_000;

const NUMBERS: readonly unknown[] = [0, -1, 1.5, 65_536, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, 7411];
const TEXTS = ["", "a", "b", "-", "a..b", "__proto__", "constructor", "\u0000", "\ud800", "b".repeat(300)];
const ADDRESSES = [
  "10.0.0.1",
  "::ffff:10.0.0.1",
  "0.0.0.0",
  "255.255.255.255",
  "ff02::1",
  "10.0.0.1\n",
  "１.1.1.1",
];
const OBJECTS: readonly unknown[] = [
  null,
  true,
  {},
  [],
  [null],
  { __proto__: null, node: "a" },
  { toString: null },
];
const POISON = [...NUMBERS, ...TEXTS, ...ADDRESSES, ...OBJECTS];

function soundPlan(): Record<string, unknown> {
  return {
    version: "1",
    node: "a",
    identity: "10.0.0.1",
    zone: "z",
    region: null,
    signingKeyId: 2,
    peers: Array.from({ length: 5 }, (_, i) => ({
      node: `b${i}`,
      zone: null,
      region: "r",
      address: `10.0.1.${i + 1}`,
      identity: `fd00::${i + 1}`,
      udpPort: 7411,
      tcpPort: 7412,
      bandwidthPort: i === 0 ? null : 7413,
    })),
  };
}

describe("parsePlan under mutations", () => {
  test("either refuses by a known reason, short and printable, or returns a plan that keeps every rule", () => {
    const random = seededRandom(20_260_721);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
    const reasons = new Set<string>();
    let accepted = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const plan = soundPlan();
      const mutations = 1 + Math.floor(random.next() * 3);
      for (let i = 0; i < mutations; i++) mutate(plan, pick, random.next());
      const judged = judge(plan);
      if (judged instanceof PlanRefusedError) reasons.add(judged.reason);
      else {
        expectSound(judged);
        accepted++;
      }
      expect(judged instanceof PlanRefusedError ? judged.message.length : 0).toBeLessThan(300);
    }
    expect(accepted).toBeGreaterThan(ROUNDS / 100);
    // The other reasons need inputs that mutating five peers does not produce, such as twenty peers.
    expect(reasons.size).toBeGreaterThanOrEqual(8);
    expect(PLAN_REFUSALS).toEqual(expect.arrayContaining([...reasons]));
  });

  test("text of random bytes that happens to be JSON is no plan", () => {
    const random = seededRandom(5);
    for (let round = 0; round < 2000; round++) {
      const text = Array.from({ length: 20 }, () =>
        '{}[]":,0a. '.charAt(Math.floor(random.next() * 11)),
      ).join("");
      let body: unknown;
      try {
        body = JSON.parse(text);
      } catch {
        continue;
      }
      expect(() => parsePlan(body, RULES)).toThrow(PlanRefusedError);
    }
  });

  test("a plan as deep or as wide as a body can be is refused quickly, without a stack overflow", () => {
    const deep = JSON.parse("[".repeat(5000) + "]".repeat(5000)) as unknown;
    expect(() => parsePlan({ ...soundPlan(), peers: deep }, RULES)).toThrow(PlanRefusedError);
    expect(() => parsePlan({ ...soundPlan(), zone: deep }, RULES)).toThrow(PlanRefusedError);
    const wide = Array.from({ length: 200_000 }, () => ({}));
    expect(() => parsePlan({ ...soundPlan(), peers: wide }, RULES)).toThrow(/at most 20 entries, got 200000/);
  });
});

function judge(plan: unknown): ProbePlan | PlanRefusedError {
  try {
    return parsePlan(plan, RULES);
  } catch (error) {
    if (error instanceof PlanRefusedError) return error;
    throw error;
  }
}

function mutate(plan: Record<string, unknown>, pick: <T>(from: readonly T[]) => T, what: number): void {
  const peers = plan["peers"];
  const isList = Array.isArray(peers) && peers.length > 0;
  const target = what < 0.4 || !isList ? plan : (pick(peers) as Record<string, unknown>);
  if (typeof target !== "object" || target === null) return;
  const key = pick(Object.keys(target).concat("extra"));
  if (what < 0.1 || (what > 0.9 && isList && what < 0.95)) delete target[key];
  else if (what > 0.95 && isList) peers.push(pick(peers));
  else target[key] = pick(POISON);
}

/** Written from the rules, not from the code. */
function expectSound(plan: ProbePlan): void {
  expect(plan.node).toBe("a");
  expect(usable(plan.identity)).toBe(true);
  expect(plan.signingKeyId === null || isPort(plan.signingKeyId)).toBe(true);
  expect(plan.peers.length).toBeLessThanOrEqual(20);
  expect(new Set(plan.peers.map(({ node }) => node)).size).toBe(plan.peers.length);
  for (const peer of plan.peers) {
    expect(peer.node).toMatch(/^[a-zA-Z0-9][-a-zA-Z0-9._]{0,252}$/);
    expect(peer.node).not.toBe("a");
    expect(usable(peer.address) && usable(peer.identity)).toBe(true);
    expect(isPort(peer.udpPort) && isPort(peer.tcpPort)).toBe(true);
    expect(peer.bandwidthPort === null || isPort(peer.bandwidthPort)).toBe(true);
    for (const text of [peer.zone, peer.region]) expect(text === null || typeof text === "string").toBe(true);
  }
}

function usable(address: string): boolean {
  const bytes = parseAddress(address);
  return bytes !== null && !isUnusableTarget(bytes);
}

function isPort(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= 65_535;
}
