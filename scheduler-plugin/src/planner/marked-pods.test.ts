import { KINDS } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { createRegistry } from "@isochrone/runtime";
import { ManualClock } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { MarkedPods } from "./marked-pods.ts";
import { createPlannerMetrics } from "./metrics.ts";

interface Fields {
  readonly to?: string;
  readonly owner?: string;
  readonly namespace?: string;
  readonly deletionTimestamp?: string;
}

const GOING = { deletionTimestamp: "2026-01-01T00:00:00Z" };

function podOf(name: string, { to = "", owner = "rs", namespace = "shop", ...metadata }: Fields = {}) {
  return {
    ...KINDS.pod,
    metadata: {
      name,
      namespace,
      uid: `uid-${name}`,
      annotations: to === "" ? {} : { "isochrone.dev/move-to": to },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: "p", uid: owner, controller: true },
      ],
      ...metadata,
    },
    spec: { nodeName: "n1" },
  } satisfies KubernetesObject;
}

function rig() {
  const clock = new ManualClock();
  const metrics = createPlannerMetrics(createRegistry());
  const marked = new MarkedPods({ clock, metrics });
  const show = (pod: KubernetesObject, type: "modified" | "deleted" = "modified"): void =>
    marked.take({ type, object: pod });
  const expired = async (): Promise<number> =>
    (await metrics.moves.get()).values.find(({ labels }) => labels.outcome === "expired")?.value ?? 0;
  return { clock, marked, show, expired, targets: () => marked.openFor(podOf("new")).map(({ to }) => to) };
}

describe("pods that are marked to be moved by hand", () => {
  test("hold new pods of their controller back, and name their target once they go", () => {
    const { marked, show, targets } = rig();
    show(podOf("a", { to: "n2" }));
    expect([marked.isMoving(podOf("new")), targets()]).toEqual([true, []]);
    show(podOf("a", { to: "n2", ...GOING }));
    expect([marked.isMoving(podOf("new")), targets()]).toEqual([true, ["n2"]]);
    for (const other of [{ namespace: "theirs" }, { owner: "rs-2" }]) {
      expect(marked.isMoving(podOf("new", other))).toBe(false);
      expect(marked.openFor(podOf("new", other))).toEqual([]);
    }
  });

  test("name it for one pod, whatever is still shown of them", () => {
    const { marked, show, targets } = rig();
    for (const name of ["a", "b"]) show(podOf(name, { to: `n-${name}` }));
    for (const name of ["a", "b"]) show(podOf(name, { to: `n-${name}`, ...GOING }));
    marked.done(marked.openFor(podOf("new"))[0]!);
    show(podOf("a", { to: "n-a", ...GOING }));
    expect(targets()).toEqual(["n-b"]);
    show(podOf("a", { to: "n-a", ...GOING }), "deleted");
    marked.done(marked.openFor(podOf("new"))[0]!);
    show(podOf("b", { to: "n-b", ...GOING }), "deleted");
    expect([targets(), marked.isMoving(podOf("new"))]).toEqual([[], false]);
  });

  test("end two minutes after they have gone, which is counted, and no sooner", async () => {
    const { clock, marked, show, targets, expired } = rig();
    show(podOf("a", { to: "n2" }));
    show(podOf("a", { to: "n2", ...GOING }));
    await clock.advance(600_000);
    marked.expire();
    expect(targets()).toEqual(["n2"]);
    show(podOf("a", { to: "n2", ...GOING }), "deleted");
    await clock.advance(119_000);
    marked.expire();
    expect(targets()).toEqual(["n2"]);
    await clock.advance(1_000);
    marked.expire();
    expect([targets(), marked.isMoving(podOf("new")), await expired()]).toEqual([[], false, 1]);
  });

  test("are others when the mark is taken away, has no node, or came too late", () => {
    const { marked, show } = rig();
    show(podOf("a", { to: "n2" }));
    show(podOf("a"));
    show(podOf("b", { to: "n2", ...GOING }));
    show({ ...podOf("c", { to: "n2" }), spec: {} });
    const bare = podOf("d", { to: "n2" });
    show({ ...bare, metadata: { ...bare.metadata, ownerReferences: [] } });
    expect(marked.isMoving(podOf("new"))).toBe(false);
  });
});
