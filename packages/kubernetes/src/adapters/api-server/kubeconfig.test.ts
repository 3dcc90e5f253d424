import { ManualClock } from "@isochrone/runtime/testing";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { KubeconfigCredentials } from "./kubeconfig.ts";

const folder = mkdtempSync(join(tmpdir(), "isochrone-kubeconfig-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, "config");
const names = ["one", "two"];
writeFileSync(
  file,
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: names.map((name) => ({ name, cluster: { server: `https://${name}.example` } })),
    users: names.map((name) => ({ name, user: { token: name } })),
    contexts: names.map((name) => ({ name, context: { cluster: name, user: name, namespace: name } })),
    "current-context": "one",
  }),
);

describe("a kubeconfig", () => {
  it.each([
    [undefined, "one"],
    ["two", "two"],
  ])("with the context %s asks the cluster %s", async (context, name) => {
    const credentials = new KubeconfigCredentials(file, new ManualClock(), context);
    const { server, headers } = await credentials.login();
    expect([server.hostname, headers["authorization"]]).toEqual([`${name}.example`, `Bearer ${name}`]);
    expect(await credentials.namespace()).toBe(name);
  });

  it("names the contexts that there are when it has not the one that is asked for", async () => {
    const credentials = new KubeconfigCredentials(file, new ManualClock(), "three");
    await expect(credentials.login()).rejects.toThrow('it has no context "three", but one, two');
  });
});
