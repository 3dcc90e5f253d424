// Reads pod nodes from the cluster's objects instead of the command's output.
import { Embedded } from "@isochrone/cli/embedded";
import { createProgram } from "@isochrone/cli/testing";
import { KINDS } from "@isochrone/kubernetes";
import type { WorkflowPlanReport } from "@isochrone/placement";
import { createLogger } from "@isochrone/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../harness/embedded.ts";

const WINDOW_MS = 15_000;
const WITHIN_MS = 200_000;
/** Each move takes some seconds. */
const MOVED = 3;

describe("the best plan of the embedded cluster", () => {
  const ending = new AbortController();
  let embedded: Embedded;
  let moves: WorkflowPlanReport["moves"];

  beforeAll(async () => {
    const logger = createLogger({
      service: "test",
      level: "error",
      format: "text",
      destination: process.stderr,
    });
    const options = {
      port: 0,
      nodes: 6,
      requestsPerSecond: 5,
      windowMs: WINDOW_MS,
      seed: 1,
      placement: "spread",
      movesPods: false,
      allowedHosts: [],
      logger,
      env: {},
    } as const;
    embedded = await Embedded.start(options, ending.signal);
  }, WITHIN_MS);
  afterAll(async () => {
    ending.abort();
    await embedded?.stop();
  }, 60_000);

  const pods = () => embedded.cluster.pods().filter(({ deleting, ready }) => ready && !deleting);
  const nodesOf = () => Object.fromEntries(pods().map(({ workload, node }) => [workload, node]));

  async function said(...words: readonly string[]): Promise<string> {
    const lines: string[] = [];
    const args = ["plan", "default", ...words, "--server", embedded.urls.page, "--lab", embedded.urls.lab];
    const { KUBECONFIG } = process.env;
    delete process.env["KUBECONFIG"];
    try {
      await createProgram((text) => lines.push(text)).parseAsync(args, { from: "user" });
    } finally {
      if (KUBECONFIG !== undefined) process.env["KUBECONFIG"] = KUBECONFIG;
    }
    return lines.join("\n");
  }

  it(
    "promises nothing while no replacement would be sent to its target",
    async () => {
      await eventually("a plan moves pods", WITHIN_MS, async () => {
        const [report] = JSON.parse(await said("-o", "json")) as [WorkflowPlanReport];
        if (report.moves.length < MOVED) throw new Error("not yet");
        ({ moves } = report);
      });
      for (const { obstacle } of moves) expect(obstacle).toMatch(/\((not_opted_in|too_young)\)$/);
      expect(await said("--apply")).toContain("Nothing is to be carried out.");
      await expect(said("--apply", "--undo")).rejects.toThrow("exclude each other");
    },
    WITHIN_MS,
  );

  let before: Record<string, string | null>;

  it(
    "moves the pods, one after the other, to where it says",
    async () => {
      await embedded.startMoving();
      await eventually("moves can be made, and the page shows them", WITHIN_MS, async () => {
        const answer = await fetch(`${embedded.urls.page}/api/v1/plans?kind=proposal&namespace=default`);
        const { plans } = (await answer.json()) as { plans: { pods: { obstacle: string | null }[] }[] };
        const shown = plans[0]?.pods.filter(({ obstacle }) => obstacle === null) ?? [];
        if (shown.length < MOVED) throw new Error(JSON.stringify(plans));
        const [report] = JSON.parse(await said("-o", "json")) as [WorkflowPlanReport];
        moves = report.moves.filter(({ obstacle }) => obstacle === null);
        if (moves.length < MOVED) throw new Error(JSON.stringify(report.moves));
      });
      before = nodesOf();
      const chosen = moves.slice(0, MOVED);
      const names = chosen.map(({ pod }) => pod).join(",");
      await expect(said("--apply", "--pods", names)).rejects.toThrow("--yes is needed");
      expect(nodesOf()).toEqual(before);
      const text = await said("--apply", "--yes", "--pods", names);
      for (const { workload, from, to } of chosen) {
        expect(before[workload]).toBe(from);
        expect(nodesOf()[workload]).toBe(to);
      }
      expect(text).toContain(`moved ${MOVED} of ${MOVED}: `);
      const others = Object.keys(before).filter((name) => chosen.every(({ workload }) => workload !== name));
      for (const name of others) expect(nodesOf()[name]).toBe(before[name]);
    },
    2 * WITHIN_MS,
  );

  it(
    "is undone",
    async () => {
      expect(await said("--undo", "--yes")).toContain(`${MOVED} pods moved back.`);
      expect(nodesOf()).toEqual(before);
      const { items } = await embedded.store.list(KINDS.replicaSet);
      for (const { metadata } of items)
        expect(metadata.annotations ?? {}).not.toHaveProperty(["isochrone.dev/applied-moves"]);
      expect(await said("--undo", "--yes")).toContain("no plan was carried out");
    },
    WITHIN_MS,
  );
});
