import { readBehaviour } from "@isochrone/lab";
import { describe, expect, it } from "vitest";
import { cellsOf } from "../../run/cells.ts";
import { listScenarios, scenarioFile } from "../../scenario/catalogue.ts";
import { loadScenario } from "../../scenario/read-scenario.ts";
import { callTo, pointOf, workloadOf } from "../testing/points.ts";
import { annotationsOf, manifestOf } from "./manifest.ts";

const entry = workloadOf("a", {
  cpuMs: 2.5,
  cpuSpread: "exponential",
  calls: [callTo("b", { probability: 0.5, requestBytes: 100.4, responseBytes: 900 }), callTo("c")],
});

describe("a point as a manifest of the lab", () => {
  it("has its workloads, with everything that the program must do", () => {
    const workloads = [entry, workloadOf("b", { replicas: 3 }), workloadOf("c")];
    const manifest = manifestOf(pointOf({ workloads, cores: [1] }));
    expect(manifest.entry.name).toBe("a");
    expect(manifest.workloads.map(({ name, callees }) => [name, ...callees])).toEqual([
      ["a", "b", "c"],
      ["b"],
      ["c"],
    ]);
    expect(manifest.entry.behaviour).toMatchObject({
      calls: ["b", "c"],
      cpuMs: 2.5,
      cpuSpread: "exponential",
      callOptions: { b: { probability: 0.5, requestBytes: 100, responseBytes: 900 } },
    });
  });

  it("is understood by the program", () => {
    const refuse = (_: string, message: string): never => {
      throw new Error(message);
    };
    expect(readBehaviour(annotationsOf(entry, true), refuse).calls).toEqual(["b", "c"]);
  });

  it("makes a call as often as the workload does", () => {
    const workloads = [workloadOf("a", { calls: [callTo("b"), callTo("b")] }), workloadOf("b")];
    const { entry: made } = manifestOf(pointOf({ workloads, cores: [1] }));
    expect(made.behaviour.calls).toEqual(["b", "b"]);
    expect(made.callees).toEqual(["b"]);
  });

  it.each(listScenarios().filter(({ kind }) => kind === "workflows"))(
    "is one of each point that $name measures in the lab",
    ({ name }) => {
      const scenario = loadScenario(scenarioFile(name)!, { quick: false });
      const cells = cellsOf(scenario, { grounds: ["lab"], only: {} });
      expect(cells.length).toBeGreaterThan(0);
      for (const { point } of cells) expect(manifestOf(point).entry.name).toBe(point.workflow.entry);
    },
  );

  it("says what the lab can't have", () => {
    expect(() => manifestOf(pointOf({ workloads: [workloadOf("A_1")], cores: [1] }))).toThrow("lower-case");
  });
});
