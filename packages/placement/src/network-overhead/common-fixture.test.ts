import { describe, expect, test } from "vitest";
import { CHECKSUMS, commonFixture } from "../testing/common-fixture.ts";
import { UpstreamNetworkOverhead } from "./network-overhead.ts";

describe("the common fixture in upstream mode", () => {
  test.each(CHECKSUMS)("$nodes nodes give the sums of the Go plugin", (wanted) => {
    const problem = commonFixture(wanted.nodes);
    const strategy = new UpstreamNetworkOverhead();
    const rejected = strategy.filter(problem);
    const { raw, score } = strategy.score(problem);
    const sum = (column: Float64Array): number => column.reduce((total, value) => total + value, 0);
    expect({
      nodes: raw.length,
      pass: raw.length - rejected.size,
      rawSum: sum(raw),
      min: Math.min(...raw),
      max: Math.max(...raw),
      scoreSum: sum(score),
    }).toEqual(wanted);
  });

  test("rejected nodes are worded as the plugin words them, and infeasible ones keep their score", () => {
    const problem = commonFixture(1_000);
    const strategy = new UpstreamNetworkOverhead();
    const infeasible = strategy.filter(problem);
    const [[name, reason]] = infeasible as unknown as [[string, string]];
    expect(reason).toMatch(
      new RegExp(
        `^Node ${name} does not meet several network requirements from Workload dependencies: Satisfied: \\d+ Violated: \\d+$`,
      ),
    );
    expect(strategy.score({ ...problem, infeasible }).score).toEqual(strategy.score(problem).score);
  });
});
