import type { Decision } from "@isochrone/topology";
import { expect, test } from "vitest";
import { badgeOf, wordOf } from "./decision-words.ts";

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
