import { expect, test } from "vitest";
import { streamJob, streamTask } from "../../harness/streams.ts";
import type { AdmissionTestbed } from "./testbed.ts";

const ALLOWED = "authors";
const OTHER = "others";

export function describeStreamAuthors(testbed: AdmissionTestbed): void {
  test("whoever writes a StreamJob must be allowed to create pods in its namespace", async () => {
    const { cluster } = testbed;
    for (const namespace of [ALLOWED, OTHER]) await cluster.createNamespace(namespace);
    const rules = [{ apiGroups: ["isochrone.dev"], resources: ["streamjobs"], verbs: ["*"] }];
    const identity = { user: "author" };
    await cluster.grant(identity, rules);
    const author = await cluster.clientOf(identity);
    const path = (namespace: string): string =>
      `/apis/isochrone.dev/v1alpha1/namespaces/${namespace}/streamjobs`;
    const create = async (namespace: string): Promise<string> => {
      const { code, text } = await author.answer("POST", path(namespace), streamJob(namespace, "mine"));
      return code === 201 ? "ok" : text;
    };
    expect(await create(ALLOWED)).toContain("must be allowed to create pods");
    const pods = [{ apiGroups: [""], resources: ["pods"], verbs: ["create"] }];
    await cluster.grant(identity, pods, ALLOWED);
    await expect.poll(() => create(ALLOWED), { timeout: 20_000 }).toBe("ok");
    expect(await create(OTHER)).toContain("must be allowed to create pods");
    await cluster.create(streamJob(OTHER, "theirs"));
    const patch = async (change: object): Promise<number> => {
      const merge = { contentType: "application/merge-patch+json" };
      return (await author.answer("PATCH", `${path(OTHER)}/theirs`, change, merge)).code;
    };
    expect(await patch({ spec: { tasks: [streamTask("evil")] } })).toBe(403);
    expect(await patch({ metadata: { labels: { a: "b" } } })).toBe(200);
  });
}
