import type { Decision } from "@isochrone/topology";
import { expect, test } from "vitest";
import type { Plan } from "../model/plan.ts";
import { badgeOf, FILTERS, streamOf, wordOf } from "./stream.ts";

test("one stream of all kinds, the newest first, or of one kind", () => {
  const decision = (id: string, second: number, kind?: string): Decision =>
    ({ id, at: `2026-01-01T00:00:0${second}Z`, kind }) as unknown as Decision;
  const decisions = [decision("a", 1), decision("b", 3, "eviction"), decision("c", 2, "plan")];
  const plans = [{ id: "p", at: "2026-01-01T00:00:04Z" } as unknown as Plan];
  expect(
    FILTERS.map((filter) =>
      streamOf(decisions, plans, filter)
        .map(({ id }) => id)
        .join(""),
    ),
  ).toEqual(["pbca", "ca", "b", "p"]);
});

test.each([
  [{ kind: "score" }, "placement", "placement"],
  [{ kind: "plan" }, "planned", "planned"],
  [{ kind: "eviction" }, "moving", "eviction"],
  [{ kind: "eviction", outcome: { result: "on_target", node: "n2" } }, "moved", "eviction"],
  [{ kind: "eviction", outcome: { result: "elsewhere", node: "n3" } }, "move failed", "bad"],
  [{ kind: "eviction", outcome: { result: "withdrawn", node: null } }, "move failed", "bad"],
  [{ kind: "eviction", outcome: { result: "lost", node: null } }, "move failed", "bad"],
])("%j is called %s", (fields, word, badge) => {
  const decision = { strategy: "descheduler", ...fields } as unknown as Decision;
  expect([wordOf(decision), badgeOf(decision)]).toEqual([word, badge]);
});
