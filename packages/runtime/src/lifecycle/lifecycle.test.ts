import { expect, test } from "vitest";
import { Lifecycle } from "./lifecycle.ts";
import type { LifecycleState } from "./lifecycle.ts";

const STATES: readonly LifecycleState[] = ["starting", "running", "draining", "stopped"];

function at(state: LifecycleState): Lifecycle {
  const lifecycle = new Lifecycle();
  lifecycle.to(state);
  return lifecycle;
}

function messageOf(action: () => void): string | null {
  try {
    action();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

for (const [fromIndex, from] of STATES.entries()) {
  for (const [toIndex, to] of STATES.entries()) {
    const allowed = toIndex >= fromIndex;
    test(`from ${from} to ${to} is ${allowed ? "allowed" : "refused"}`, () => {
      const lifecycle = at(from);
      const refusal = allowed ? null : `a lifecycle that is ${from} can't become ${to}`;
      expect(messageOf(() => lifecycle.to(to))).toBe(refusal);
      expect(lifecycle.state).toBe(allowed ? to : from);
    });
  }
}

test("listeners hear each change once, until they leave", () => {
  const lifecycle = new Lifecycle();
  const heard: LifecycleState[] = [];
  const leave = lifecycle.onChange((state) => heard.push(state));
  lifecycle.to("running");
  lifecycle.to("running");
  lifecycle.to("draining");
  leave();
  lifecycle.to("stopped");
  expect(heard).toEqual(["running", "draining"]);
});
