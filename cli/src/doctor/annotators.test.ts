import { KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ManualClock } from "@isochrone/runtime/testing";
import { ANNOTATED_BY, markText } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { judgeAnnotators, lookAtAnnotators } from "./annotators.ts";
import type { Annotator } from "./annotators.ts";

const NOW = Date.parse("2026-01-01T12:00:00.000Z");
const MINUTE = 60_000;
const mark = (name: string, minutesAgo: number): { metadata: { annotations: Record<string, string> } } => ({
  metadata: {
    annotations: {
      [ANNOTATED_BY]: markText({ name, sinceMs: NOW - 60 * MINUTE, atMs: NOW - minutesAgo * MINUTE }),
    },
  },
});
const node = (name: string, annotated: ReturnType<typeof mark>): KubernetesObject => ({
  ...KINDS.node,
  metadata: { name, ...annotated.metadata },
});
const web = (annotated: ReturnType<typeof mark>): KubernetesObject => ({
  ...KINDS.deployment,
  metadata: { namespace: "shop", name: "web", ...annotated.metadata },
});
async function seen(...objects: readonly KubernetesObject[]): Promise<Annotator[]> {
  const store = createMemoryStore({ clock: new ManualClock() });
  for (const object of objects) await store.create(object);
  return lookAtAnnotators(store, NOW);
}
const page = (text: string) => ({ url: "http://a/metrics", text, error: null });
const YIELDED =
  'isochrone_aggregator_annotations_yielded{kind="node"} 12\nisochrone_aggregator_annotations_yielded{kind="deployment"} 0';

describe("the doctor on who annotates", () => {
  test("takes one aggregator for fine, and one that has stopped for gone", async () => {
    const writers = await seen(
      node("n1", mark("iso/agg", 1)),
      node("n2", mark("iso/agg", 9)),
      web(mark("old/agg", 26)),
    );
    expect(writers).toMatchObject([{ name: "iso/agg", atMs: NOW - MINUTE, example: "Node n1" }]);
    expect(judgeAnnotators({ page: page(YIELDED.replace("12", "0")), writers, why: "" })).toMatchObject({
      severity: "ok",
      value: "iso/agg alone",
      remedy: null,
    });
  });

  test("names those that annotate beside each other, what they wrote last, and what to do", async () => {
    const writers = await seen(node("n1", mark("iso/agg", 1)), web(mark("test/agg", 5)));
    const found = judgeAnnotators({ page: null, writers, why: "" });
    expect(found.severity).toBe("warning");
    expect(found.value).toBe(
      "who annotates: iso/agg, which runs since 2026-01-01T11:00:00.000Z and wrote Node n1 at 2026-01-01T11:59:00.000Z; " +
        "test/agg, which runs since 2026-01-01T11:00:00.000Z and wrote Deployment shop/web at 2026-01-01T11:55:00.000Z",
    );
    expect(found.remedy).toMatch(/set annotations\.nodes and annotations\.workloads to false/);
  });

  test("hears it from the one that waits, too, and says who writes in its place", async () => {
    const writers = await seen(node("n1", mark("test/agg", 1)));
    expect(judgeAnnotators({ page: page(YIELDED), writers, why: "" })).toMatchObject({
      severity: "warning",
      value: expect.stringMatching(
        /^this aggregator leaves to another one 12 of kind node; who annotates: test\/agg, /,
      ),
    });
    const blind = { page: page(YIELDED), writers: null, why: "no cluster is named" };
    expect(judgeAnnotators(blind).value).toBe("this aggregator leaves to another one 12 of kind node");
  });

  test("is skipped without a cluster and a server", () => {
    const found = judgeAnnotators({ page: null, writers: null, why: "no cluster is named" });
    expect([found.severity, found.value]).toEqual(["skipped", "no server is named, and no cluster is named"]);
    expect(found.remedy).toContain("--kubeconfig");
  });
});
