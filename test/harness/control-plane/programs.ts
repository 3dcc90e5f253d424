// Finds binaries in KUBEBUILDER_ASSETS, then in the user's cache, or builds them there.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { versionOf } from "../common/commands.ts";
import { supportFrom, type Support } from "../common/support.ts";
import { buildKubernetes, buildKwok, kubernetesFolder, kwokFolder } from "./build.ts";
import { KUBERNETES_VERSION } from "./versions.ts";

export type OptionalComponent = "controller-manager" | "scheduler" | "kwok";
const OPTIONAL_COMPONENTS: readonly OptionalComponent[] = ["controller-manager", "scheduler", "kwok"];

/** Paths of binaries. Binaries that were not requested may be missing. */
export interface Programs {
  readonly etcd: string;
  readonly apiServer: string;
  readonly kubectl: string;
  readonly controllerManager: string;
  readonly scheduler: string;
  readonly kwok: string;
  readonly stages: string;
}

export function controlPlaneSupport(components: readonly OptionalComponent[] = OPTIONAL_COMPONENTS): Support {
  const there = isThere(components) || versionOf("go", "version") !== null;
  const missing = there ? [] : ["there is no go on the path to build it, nor KUBEBUILDER_ASSETS"];
  return supportFrom(`a control plane of Kubernetes ${KUBERNETES_VERSION}`, missing);
}

/** Builds missing binaries, which takes minutes the first time. */
export async function prepareControlPlane(
  components: readonly OptionalComponent[] = OPTIONAL_COMPONENTS,
): Promise<Programs> {
  if (needed(components).some((name) => !inAssets(name))) await buildKubernetes();
  if (components.includes("kwok")) await buildKwok();
  return {
    etcd: pathOf("etcd"),
    apiServer: pathOf("kube-apiserver"),
    kubectl: pathOf("kubectl"),
    controllerManager: pathOf("kube-controller-manager"),
    scheduler: pathOf("kube-scheduler"),
    kwok: join(kwokFolder, "kwok"),
    stages: join(kwokFolder, "stages.yaml"),
  };
}

function isThere(components: readonly OptionalComponent[]): boolean {
  const kubernetes = needed(components).every((name) => existsSync(pathOf(name)));
  return kubernetes && (!components.includes("kwok") || existsSync(kwokFolder));
}

function needed(components: readonly OptionalComponent[]): string[] {
  const optional = components.filter((name) => name !== "kwok").map((name) => `kube-${name}`);
  return ["etcd", "kube-apiserver", "kubectl", ...optional];
}

function pathOf(name: string): string {
  return inAssets(name) ? join(process.env["KUBEBUILDER_ASSETS"]!, name) : join(kubernetesFolder, name);
}

function inAssets(name: string): boolean {
  const assets = process.env["KUBEBUILDER_ASSETS"];
  return assets !== undefined && existsSync(join(assets, name));
}
