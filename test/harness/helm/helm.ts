// Runs Helm isolated from the user's own Helm files.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { parseAllDocuments } from "yaml";
import { ReapedFolder } from "../common/reaped-folder.ts";
import { prepareHelm } from "./build.ts";

export const CHART = join(import.meta.dirname, "../../../helm/isochrone");

export type ChartValues = Readonly<Record<string, unknown>>;

export interface HelmResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface TemplateOptions {
  /** @default "isochrone" */
  readonly namespace?: string;
  /** @default "isochrone" */
  readonly release?: string;
}

const WITHIN_MS = 100_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

export class Helm {
  readonly #program: string;
  readonly #folder: ReapedFolder;
  #files = 0;

  static async open(): Promise<Helm> {
    return new Helm(await prepareHelm());
  }

  private constructor(program: string) {
    this.#program = program;
    this.#folder = new ReapedFolder("isochrone-helm");
  }

  run(args: readonly string[], kubeconfig?: string): Promise<HelmResult> {
    const { path } = this.#folder;
    const env = {
      ...process.env,
      HOME: path,
      HELM_CACHE_HOME: join(path, "cache"),
      HELM_CONFIG_HOME: join(path, "config"),
      HELM_DATA_HOME: join(path, "data"),
      KUBECONFIG: kubeconfig ?? join(path, "no-kubeconfig"),
    };
    const settings = { cwd: path, env, timeout: WITHIN_MS, maxBuffer: MAX_OUTPUT_BYTES };
    return new Promise((resolve) => {
      execFile(this.#program, args, settings, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, stdout, stderr });
      });
    });
  }

  valuesFile(values: ChartValues): string {
    const path = join(this.#folder.path, `values-${++this.#files}.yaml`);
    // JSON is valid YAML of every version.
    writeFileSync(path, JSON.stringify(values));
    return path;
  }

  /** Renders the chart, including hooks. @throws Error with Helm's message */
  async template(values: ChartValues = {}, options: TemplateOptions = {}): Promise<KubernetesObject[]> {
    const { code, stdout, stderr } = await this.tryTemplate(values, options);
    if (code !== 0) throw new Error(`helm template ends with ${code}: ${stderr}`);
    return parseAllDocuments(stdout)
      .map((document) => document.toJS() as KubernetesObject | null)
      .filter((object) => object !== null);
  }

  tryTemplate(
    values: ChartValues,
    { namespace = "isochrone", release = "isochrone" }: TemplateOptions = {},
  ): Promise<HelmResult> {
    return this.run([
      "template",
      release,
      CHART,
      "--namespace",
      namespace,
      "--values",
      this.valuesFile(values),
    ]);
  }

  close(): Promise<void> {
    return this.#folder.remove();
  }
}
