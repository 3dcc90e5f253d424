import { describe, expect, it } from "vitest";
import { takePage } from "./domain/testing/take-page.ts";
import type { Target } from "./ports/ports.ts";
import { TargetMemories } from "./target-memories.ts";

const MAX_BYTES = 4 * 1024 * 1024;

const target = (instance: string, more: Partial<Target> = {}): Target => ({
  kind: "istio",
  url: `http://${instance}`,
  instance,
  ...more,
});
const memories = (): TargetMemories =>
  new TargetMemories({ maxBytes: MAX_BYTES, reduce: true, seed: () => 1 });

const rows = (count: number): string =>
  Array.from(
    { length: count },
    (_, i) => `istio_requests_total{source_workload="w${i}",reporter="source",a="${"x".repeat(950)}"} 1\n`,
  ).join("");

describe("TargetMemories", () => {
  it("lets one namespace's pages have it all while nobody else wants any", () => {
    const all = memories();
    for (let i = 0; i < 10; i++) takePage(all.of(target(`evil/${i}`, { namespace: "evil" })), rows(100));
    expect(all.hasRoom(target("evil/0", { namespace: "evil" }))).toBe(true);
  });

  it("beyond the bound refuses pages of namespaces above their share, and of no others", () => {
    const all = memories();
    for (let i = 0; i < 10; i++) takePage(all.of(target(`evil/${i}`, { namespace: "evil" })), rows(400));
    takePage(all.of(target("shop/0", { namespace: "shop" })), rows(100));
    takePage(all.of(target("otel")), rows(100));
    const evil = target("evil/9", { namespace: "evil" });
    expect(
      [evil, target("shop/0", { namespace: "shop" }), target("otel")].map((each) => all.hasRoom(each)),
    ).toEqual([false, true, true]);
    for (let i = 2; i < 10; i++) all.forget(target(`evil/${i}`));
    expect(all.hasRoom(evil)).toBe(true);
  });

  it("begins anew for a pod that is another workload's than before", () => {
    const all = memories();
    const scope = (workload: string): Partial<Target> => ({
      scope: { of: "pod", namespace: "shop", workloads: [workload], serves: [] },
    });
    const before = all.of(target("shop/x", scope("a")));
    expect(all.of(target("shop/x", scope("a")))).toBe(before);
    expect(all.of(target("shop/x", scope("b")))).not.toBe(before);
    all.retain([]);
    expect(all.of(target("shop/x", scope("b")))).not.toBe(before);
  });
});
