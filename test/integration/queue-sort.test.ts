// In-tree binaries lack upstream's plugin, which must be their only error.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlPlaneSupport, prepareControlPlane } from "../harness/control-plane/index.ts";

const COMMAND = join(import.meta.dirname, "../../cli/bin/isochrone.mjs");
const support = controlPlaneSupport(["scheduler"]);
if (!support.supported) console.warn(`the queue's order is not tested: ${support.reason}`);

const KUBECONFIG = `apiVersion: v1
kind: Config
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
users: [{name: nobody, user: {}}]
current-context: nowhere
`;
const SORTED = `{queueSort: {enabled: [{name: TopologicalSort}], disabled: [{name: "*"}]}}`;

describe.runIf(support.supported)("a real kube-scheduler reads TopologicalSort", () => {
  let folder: string;
  let scheduler: string;

  beforeAll(async () => {
    ({ scheduler } = await prepareControlPlane(["scheduler"]));
    folder = await mkdtemp(join(tmpdir(), "isochrone-queue-sort-"));
    await writeFile(join(folder, "kubeconfig"), KUBECONFIG);
  }, 900_000);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Two profiles; the second may have its own plugins. */
  const configuration = (plugins = "{}"): string => `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: ${join(folder, "kubeconfig")}}
leaderElection: {leaderElect: false}
profiles:
  - schedulerName: default-scheduler
  - schedulerName: batch
    plugins: ${plugins}
`;

  async function complaint(text: string): Promise<string> {
    const file = join(folder, "config.yaml");
    await writeFile(file, text);
    const run = promisify(execFile)(scheduler, ["--config", file, "--secure-port=0"], { timeout: 60_000 });
    return run.then(
      () => "none",
      ({ stderr }: { readonly stderr: string }) => /err="((?:[^"\\]|\\.)*)"/.exec(stderr)?.[1] ?? stderr,
    );
  }

  test("in every profile, as the command writes it: only the plugin itself is missed", async () => {
    const file = join(folder, "before.yaml");
    await writeFile(file, configuration());
    const url = ["--url", "http://127.0.0.1:9/scheduler"];
    const args = [COMMAND, "scheduler-config", file, ...url, "--topological-sort", "shop"];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
    expect(stderr).toContain("note: TopologicalSort is in kube-schedulers that are built from");
    expect(await complaint(stdout)).toMatch(
      /^initializing profiles: creating profile for scheduler name (default-scheduler|batch): QueueSortPlugin \\"TopologicalSort\\" does not exist$/,
    );
  });

  test("in one profile alone is refused, for they share a queue", async () => {
    expect(await complaint(configuration(SORTED))).toMatch(/queueSort.*must be the same for all profiles$/);
  });
});
