import { seededRandom } from "@isochrone/runtime";
import { expect, test } from "vitest";
import { PlanLog } from "./plan-log.ts";
import type { LoggedPlan, LoggedProposal } from "./plan-log.ts";

const COSTS = { network: 1, pressure: 0, total: 1 };
const plan = (id: string, atMs: number): LoggedPlan => ({
  id,
  at: new Date(atMs).toISOString(),
  workflow: "shop/flow",
  durationMs: 1,
  ended: "optimal",
  cost: null,
  lowerBound: null,
  pods: [],
  explanation: [],
});

test("plans of several replicas are the same in whatever order they come, the newest first", () => {
  const random = seededRandom(1);
  const all = Array.from({ length: 60 }, (_, index) => plan(`r-${index}`, Math.floor(index / 3)));
  const shuffled = all.map((each) => [random.next(), each] as const).sort((a, b) => a[0] - b[0]);
  const log = new PlanLog(20);
  for (const [, each] of shuffled) log.copy(each, "b");
  for (const each of all) expect(log.copy(each, "c")).toBe(false);
  expect(log.find({ limit: 100 })).toEqual(all.toReversed().slice(0, 20));
});

test("a plan is told once, by the name of the replica that made it", () => {
  const [a, b] = [new PlanLog(5, "a"), new PlanLog(5, "b")];
  a.add(plan("r-1", 1));
  for (const { plan: told } of a.changes(0, "b")) b.copy(told, "a");
  expect(b.find({ limit: 5 })).toEqual([{ ...plan("r-1", 1), replica: "a" }]);
  expect(b.changes(0, "a")).toEqual([]);
  expect(a.changes(a.seq, "b")).toEqual([]);
});

test("proposals of the leader replace those before, and keep its name", () => {
  const [a, b] = [new PlanLog(5, "a"), new PlanLog(5, "b")];
  const nothing = { today: COSTS, cost: COSTS, savedRatio: 0, gain: 0, gainError: 0, perRequest: null };
  const proposal: LoggedProposal = { ...plan("r-1", 1), ...nothing, pods: [] };
  b.propose([{ ...proposal, id: "r-0" }]);
  a.propose([proposal]);
  b.copyProposals(a.proposed.proposals);
  expect(b.proposals({ limit: 5 })).toEqual([{ ...proposal, replica: "a" }]);
});
