// Runs a hook's Job as a local process under its account, because tests run no containers.
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { ControlPlane } from "../control-plane/index.ts";
import type { HelmResult } from "./helm.ts";
import { only, podSpecOf } from "./objects.ts";

const COMMAND = join(import.meta.dirname, "../../../cli/src/main.ts");
const WITHIN_MS = 60_000;

/** @param objects as from `helm template`: the Job, and the ConfigMap mounted at /files */
export async function runHook(
  cluster: ControlPlane,
  objects: readonly KubernetesObject[],
  job: string,
): Promise<HelmResult> {
  const found = only(objects, "Job", job);
  const { serviceAccountName, containers } = podSpecOf(found)!;
  const files = join(cluster.folder, `files-of-${job}`);
  const map = objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === job);
  mkdirSync(files, { recursive: true });
  for (const [name, text] of Object.entries((map?.["data"] ?? {}) as Record<string, string>))
    writeFileSync(join(files, name), text);
  const serviceAccount = { namespace: found.metadata.namespace!, name: serviceAccountName };
  const kubeconfig = await cluster.kubeconfigOf({ serviceAccount });
  const args = containers[0]!.args!.map((arg) => (arg === "/files" ? files : arg));
  return new Promise((resolve) => {
    const all = [COMMAND, ...args, "--kubeconfig", kubeconfig];
    execFile(process.execPath, all, { timeout: WITHIN_MS }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
  });
}

/** Creates the hook's temporary permissions, runs it, and removes them. */
export async function runHookWithRights(
  cluster: ControlPlane,
  objects: readonly KubernetesObject[],
  job: string,
): Promise<HelmResult> {
  const rights = objects.filter((object) => object.metadata.name === job && isRight(object));
  await cluster.create(rights);
  const ran = await runHook(cluster, objects, job);
  for (const { apiVersion, kind, metadata } of rights) {
    const { name, namespace } = metadata;
    await cluster.remove({ apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) });
  }
  return ran;
}

export function isRight({ kind }: KubernetesObject): boolean {
  return kind === "ServiceAccount" || kind.includes("Role");
}
