// Assertions use the emulator and the cluster's objects, not the mover's reports.
import { Embedded } from "@isochrone/cli/embedded";
import { createProgram } from "@isochrone/cli/testing";
import { LabClient, readControlToken } from "@isochrone/lab/testing";
import type { WhatIf } from "@isochrone/placement";
import { createLogger } from "@isochrone/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../harness/embedded.ts";

const WINDOW_MS = 15_000;
const WITHIN_MS = 200_000;
const SLOW_MS = 150;

describe("pods of the embedded cluster", () => {
  const ending = new AbortController();
  const stages: string[] = [];
  let embedded: Embedded;
  /** First measured channels, because the graph briefly has none while all pods are replaced. */
  let channels: readonly { readonly source: string; readonly target: string }[] = [];

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
      allowedHosts: [],
      logger,
      env: {},
    } as const;
    embedded = await Embedded.start(options, ending.signal);
    embedded.moves.subscribe(({ stage, cause }) => stages.push(`${cause} ${stage}`));
  }, WITHIN_MS);
  afterAll(async () => {
    ending.abort();
    await embedded?.stop();
  }, 60_000);

  const pods = () => embedded.cluster.pods().filter(({ deleting }) => !deleting);
  const nodeOf = (workload: string): string | null =>
    pods().find((pod) => pod.workload === workload && pod.ready)?.node ?? null;

  /** Mean round trip of the workflow's channels for the current pods, by the emulator's matrix. */
  function channelMs(): number {
    const { nodes, rttMs } = embedded.network.matrix();
    const ms = channels.map(({ source, target }) => {
      const [a, b] = [nodeOf(source), nodeOf(target)];
      if (a === null || b === null) throw new Error(`${source} or ${target} isn't ready`);
      return a === b ? 0 : rttMs[nodes.indexOf(a)]![nodes.indexOf(b)]!;
    });
    return ms.reduce((sum, each) => sum + each, 0) / ms.length;
  }

  it(
    "are planned all together, nearer to each other than they were, and stay there",
    async () => {
      await eventually("all channels and links are measured", WITHIN_MS, async () => {
        const { value: graph } = await embedded.graphs.cluster();
        const { value: workflow } = await embedded.graphs.workflow("default", "sample");
        const measured = graph.links.filter(({ rttMs }) => rttMs.p50 !== null);
        if (measured.length < 30 || workflow.channels.length < 21) throw new Error("not yet");
        channels = workflow.channels;
      });
      const before = channelMs();
      const moves = await embedded.placeByPlan(ending.signal);
      expect(moves).toHaveLength(17);
      expect(channelMs()).toBeLessThan(before / 2);
      expect(stages).toEqual([]);
    },
    2 * WITHIN_MS,
  );

  async function said(...words: readonly string[]): Promise<unknown> {
    const lines: string[] = [];
    const args = [...words, "--server", embedded.urls.page, "--lab", embedded.urls.lab, "-o", "json"];
    const { KUBECONFIG } = process.env;
    delete process.env["KUBECONFIG"];
    try {
      await createProgram((text) => lines.push(text)).parseAsync(args, { from: "user" });
    } finally {
      if (KUBECONFIG !== undefined) process.env["KUBECONFIG"] = KUBECONFIG;
    }
    return JSON.parse(lines.join("\n"));
  }

  it(
    "have a plan that the command shows without a kubeconfig, and another one without the fullest node",
    async () => {
      const [report] = (await said("plan", "default")) as [{ workflow: string; pods: number }];
      expect(report).toMatchObject({ workflow: "default/sample", pods: 17 });

      const [fullest] = [...Map.groupBy(pods(), ({ node }) => node)].sort(
        ([, x], [, y]) => y.length - x.length,
      )[0]!;
      const { today, planned, moves, withoutNode } = (await said("what-if", "--drain", fullest!)) as WhatIf;
      expect(today).toMatchObject({ podsWithoutNode: 0, meanRttMs: expect.any(Number) as number });
      expect(planned.podsWithoutNode).toBe(withoutNode.length);
      expect(moves.filter(({ must }) => must).length).toBeGreaterThan(0);
      expect(moves.map(({ planned: to }) => to)).not.toContain(fullest);
      expect(pods().some(({ node }) => node === fullest)).toBe(true);
    },
    WITHIN_MS,
  );

  it(
    "leave a link that has become slow",
    async () => {
      await embedded.startMoving();
      const channel = channels.find(({ source, target }) => nodeOf(source) !== nodeOf(target));
      expect(channel).toBeDefined();
      const [a, b] = [nodeOf(channel!.source)!, nodeOf(channel!.target)!];
      await embedded.network.setLink(a, b, { rttMs: SLOW_MS });
      const slowed = channelMs();
      await eventually("pods have moved and are ready", WITHIN_MS, async () => {
        if (!stages.includes("network arrived")) throw new Error("none has moved");
        expect(channelMs()).toBeLessThan(slowed / 2);
      });
    },
    2 * WITHIN_MS,
  );

  it(
    "of a node that dies start elsewhere",
    async () => {
      const [victim] = [...Map.groupBy(pods(), ({ node }) => node)].sort(
        ([, x], [, y]) => y.length - x.length,
      )[0]!;
      const token = await readControlToken(embedded.urls.lab, process.env);
      await new LabClient(embedded.urls.lab, { token }).killNode(victim!);
      await eventually("all pods run elsewhere", WITHIN_MS, async () => {
        const ready = pods().filter((pod) => pod.ready && pod.node !== victim);
        if (new Set(ready.map(({ workload }) => workload)).size < 17)
          throw new Error(`${ready.length} are ready`);
        // Reported a moment later.
        expect(stages).toContain("node-lost arrived");
      });
    },
    2 * WITHIN_MS,
  );
});
