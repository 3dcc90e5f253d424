// Hostile specs: maximum size, cycles, endless text. Each must yield an order and a few short faults in time.
import { describe, expect, test } from "vitest";
import { faultText } from "./order-fault.ts";
import { workloadOrder } from "./workload-order.ts";

const COUNT = 10_000;
/** Fault texts must fit an annotation and an Event. */
const LONGEST_FAULT = 1_000;

const workload = (selector: string, name = `${selector}-deployment`): object => ({
  workload: { kind: "Deployment", name, selector, apiVersion: "apps/v1", namespace: "default" },
});

function spec(
  dependsOn: (index: number) => readonly string[],
  algorithm = "KahnSort",
  nameOf: (selector: string) => string = (selector) => `${selector}-deployment`,
): object {
  const named = (selector: string): object => workload(selector, nameOf(selector));
  return {
    topologySortingAlgorithm: algorithm,
    workloads: Array.from({ length: COUNT }, (_, index) => ({
      ...named(`w${index}`),
      dependencies: dependsOn(index).map(named),
    })),
  };
}

const next = (index: number): string[] => (index + 1 < COUNT ? [`w${index + 1}`] : []);
const others = Array.from({ length: COUNT - 1 }, (_, index) => `w${index + 1}`);

describe("10,000 workloads", () => {
  test.each(["KahnSort", "TarjanSort", "ReverseKahn", "ReverseTarjan", "AlternateKahn", "AlternateTarjan"])(
    "in one chain are ordered by %s",
    (algorithm) => {
      const { order, faults } = workloadOrder(spec(next, algorithm));
      expect(faults).toEqual([]);
      const indices = new Map(order.map(({ workload: { selector }, index }) => [selector, index]));
      expect(indices.size).toBe(COUNT);
      expect(indices.get("w0")).toBe(algorithm.startsWith("Reverse") ? COUNT : 1);
    },
  );

  test.each([
    ["all of which one depends on", spec((index) => (index === 0 ? others : [])), false, 0],
    ["in one circle", spec((index) => [`w${(index + 1) % COUNT}`]), true, 1],
    ["each of which depends on itself", spec((index) => [`w${index}`]), true, 5],
    ["in 5,000 circles of two", spec((index) => [`w${index ^ 1}`]), true, 5],
    ["that depend on what isn't there", spec((index) => [`ghost${index}`]), false, COUNT],
    [
      "of one name, that depend on what isn't there",
      spec(
        (index) => [`ghost${index}`],
        "KahnSort",
        () => "same",
      ),
      false,
      COUNT,
    ],
    ["and an algorithm that nobody knows", spec(() => [], "QuantumSort"), false, 1],
  ])("%s", (_, hostile, isSpecOrder, faults) => {
    const result = workloadOrder(hostile);
    expect(result.isSpecOrder).toBe(isSpecOrder);
    expect(result.faults).toHaveLength(faults);
    expect(result.order).toHaveLength(COUNT);
    for (const fault of result.faults.slice(0, 20))
      expect(faultText(fault).length).toBeLessThan(LONGEST_FAULT);
  });

  test("of one selector are one workload, and each of the others is a fault", () => {
    const result = workloadOrder({ workloads: Array.from({ length: COUNT }, () => workload("a")) });
    expect(result.order).toHaveLength(1);
    expect(result.faults.filter(({ code }) => code === "DuplicateSelector")).toHaveLength(COUNT - 1);
  });

  test("that are none leave an empty order", () => {
    const odd = [
      null,
      7,
      "w",
      [],
      {},
      { workload: 5 },
      { workload: { selector: {} } },
      { workload: { selector: "" } },
    ];
    const result = workloadOrder({
      workloads: Array.from({ length: COUNT }, (_, index) => odd[index % odd.length]),
    });
    expect(result.order).toEqual([]);
    expect(result.faults.filter(({ code }) => code === "MalformedSpec")).toHaveLength(COUNT);
  });
});

test("names, selectors and algorithms of a million characters are told in short", () => {
  const long = "n".repeat(1_000_000);
  const specs = [
    { workloads: [workload("a", long), { ...workload("b"), dependencies: [workload("other", long)] }] },
    { workloads: [{ ...workload(long), dependencies: [workload(long)] }] },
    { workloads: [workload(long), workload(long)], topologySortingAlgorithm: long },
    { workloads: long },
  ];
  for (const of of specs) {
    const { faults } = workloadOrder(of);
    expect(faults.length).toBeGreaterThan(0);
    for (const fault of faults) expect(faultText(fault).length).toBeLessThan(LONGEST_FAULT);
  }
});
