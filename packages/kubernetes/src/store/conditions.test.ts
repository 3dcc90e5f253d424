import { expect, it } from "vitest";
import { conditionsOf, hasCondition, withConditions } from "./conditions.ts";
import { KINDS } from "../kinds.ts";
import type { KubernetesObject } from "./port.ts";

const pod = (conditions: unknown): KubernetesObject => ({
  ...KINDS.pod,
  metadata: { name: "p" },
  status: { conditions },
});
const ready = { type: "Ready", status: "False", lastTransitionTime: "2026-01-01T00:00:00Z" };

it("reads conditions, and leaves out what is none", () => {
  expect(conditionsOf(pod([ready, null, "Ready", { type: "Ready" }]))).toEqual([ready]);
  expect(conditionsOf(pod("Ready"))).toEqual([]);
  expect(hasCondition(pod([ready]), "Ready")).toBe(false);
  expect(hasCondition(pod([{ ...ready, status: "True" }]), "Ready")).toBe(true);
});

it("moves the transition time of a condition with its status, and only then", () => {
  const time = "2026-01-01T00:01:00Z";
  const same = { type: "Ready", status: "False", reason: "Unhealthy" };
  expect(withConditions(pod([ready]), [same], time)).toEqual([{ ...ready, reason: "Unhealthy" }]);
  expect(withConditions(pod([ready]), [{ ...same, status: "True" }], time)).toEqual([
    { ...same, status: "True", lastTransitionTime: time },
  ]);
});

it("adds a condition of a new type, keeps the others, and changes nothing of the object", () => {
  const object = pod([ready]);
  const time = "2026-01-01T00:01:00Z";
  const added = { type: "PodScheduled", status: "True" };
  expect(withConditions(object, [added], time)).toEqual([ready, { ...added, lastTransitionTime: time }]);
  expect(conditionsOf(object)).toEqual([ready]);
});
