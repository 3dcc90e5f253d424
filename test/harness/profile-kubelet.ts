// Runs the commands of profiling pods as processes on KWOK's nodes, like a kubelet.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import type { ControlPlane } from "./control-plane/index.ts";

interface ProfileKubeletOptions {
  /** Digest of the images. @default the same for all */
  readonly imageID?: () => string;
  /** Kills pods that run longer. @default 5,000 */
  readonly deadlineMs?: number;
}

interface PodFields {
  readonly nodeName?: string;
  readonly containers: readonly { readonly name: string; readonly command: readonly string[] }[];
}

const LOG = "/dev/termination-log";
const INTERVAL_MS = 100;

export class ProfileKubelet {
  /** `task node` of each run, in order. */
  readonly runs: string[] = [];
  readonly #cluster: ControlPlane;
  readonly #options: ProfileKubeletOptions;
  readonly #seen = new Set<string>();
  readonly #ended: Promise<unknown>[] = [];
  readonly #stop = new AbortController();
  readonly #loop: Promise<void>;

  constructor(cluster: ControlPlane, options: ProfileKubeletOptions = {}) {
    this.#cluster = cluster;
    this.#options = options;
    this.#loop = this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await Promise.all(this.#ended);
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const pods = await this.#cluster.list("pods", { labels: "isochrone.dev/stream-profile" });
      for (const pod of pods) {
        const { uid = "" } = pod.metadata;
        // Acts after KWOK, which would set the pod to running.
        if (pod.status?.["phase"] !== "Running" || this.#seen.has(uid)) continue;
        this.#seen.add(uid);
        this.#ended.push(this.#runPod(pod));
      }
      await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
    }
  }

  async #runPod(pod: KubernetesObject): Promise<void> {
    const { nodeName = "", containers } = pod.spec as unknown as PodFields;
    const { name, command } = containers[0]!;
    const folder = mkdtempSync(join(tmpdir(), "isochrone-profile-"));
    const log = join(folder, "log");
    this.runs.push(`${pod.metadata.name.split("-profile-")[0]!} ${nodeName}`);
    const startedAt = new Date().toISOString();
    const [file, ...args] = command.map((word) => word.replaceAll(LOG, log));
    const child = spawn(file!, args, { env: { PATH: process.env["PATH"], NODE_NAME: nodeName } });
    const { deadlineMs = 5_000, imageID = () => `example.com/stage@sha256:${"a".repeat(64)}` } =
      this.#options;
    const deadline = setTimeout(() => child.kill("SIGKILL"), deadlineMs);
    const code = await new Promise<number | null>((resolve) => child.once("exit", resolve));
    clearTimeout(deadline);
    const message = textOf(log);
    rmSync(folder, { recursive: true });
    const finishedAt = new Date().toISOString();
    const terminated = {
      exitCode: code,
      reason: code === 0 ? "Completed" : "Error",
      message,
      startedAt,
      finishedAt,
    };
    const status =
      code === null
        ? { phase: "Failed", reason: "DeadlineExceeded", message: "Pod was active on the node too long" }
        : {
            phase: code === 0 ? "Succeeded" : "Failed",
            containerStatuses: [
              {
                name,
                image: "stage",
                imageID: imageID(),
                ready: false,
                restartCount: 0,
                state: { terminated },
              },
            ],
          };
    const { namespace = "default", name: podName } = pod.metadata;
    await this.#cluster
      .patch({ ...KINDS.pod, namespace, name: podName }, { status }, "status")
      // The pod was deleted meanwhile.
      .catch(() => undefined);
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
