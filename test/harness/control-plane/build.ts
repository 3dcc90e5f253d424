// Builds the control plane and KWOK from published Go modules. The first build takes minutes of CPU.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { cp, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cachePath, makeOnce } from "../common/cache.ts";
import { run } from "../common/commands.ts";
import { KUBERNETES_VERSION, KWOK_VERSION } from "./versions.ts";

const NAMES = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];
/** KWOK's binary has no built-in stages and manages nothing without them. */
const STAGES = [
  "node/fast/node-initialize",
  "pod/fast/pod-ready",
  "pod/fast/pod-complete",
  "pod/fast/pod-delete",
];
const BUILD_WITHIN_MS = 3_600_000;

const source = join(import.meta.dirname, "kubernetes/main.go");
const key = createHash("sha256").update(readFileSync(source)).digest("hex").slice(0, 8);
const platform = `${process.platform}-${process.arch}`;

export const kubernetesFolder = cachePath(`control-plane-${KUBERNETES_VERSION}-${key}-${platform}`);
/** Folder with `kwok` and `stages.yaml`. */
export const kwokFolder = cachePath(`kwok-${KWOK_VERSION}-${platform}`);

export async function buildKubernetes(): Promise<void> {
  await makeOnce(kubernetesFolder, (target) =>
    inWorkshop(kubernetesFolder, async (go) => {
      await writeFile(join(go.folder, "go.mod"), await kubernetesModule(go));
      await cp(source, join(go.folder, "main.go"));
      await mkdir(target, { recursive: true });
      await go.run("build", "-trimpath", "-ldflags", linkerFlags(), "-o", join(target, "kubernetes"), ".");
      for (const name of NAMES) await symlink("kubernetes", join(target, name));
    }),
  );
}

export async function buildKwok(): Promise<void> {
  await makeOnce(kwokFolder, (target) =>
    inWorkshop(kwokFolder, async (go) => {
      const module = "sigs.k8s.io/kwok";
      const { language } = await go.goMod(module, `v${KWOK_VERSION}`);
      const lines = [
        "module isochrone.dev/test/kwok",
        `go ${language}`,
        `require ${module} v${KWOK_VERSION}`,
      ];
      await writeFile(join(go.folder, "go.mod"), `${lines.join("\n")}\n`);
      await mkdir(target, { recursive: true });
      await go.run("build", "-trimpath", "-ldflags=-s -w", "-o", join(target, "kwok"), `${module}/cmd/kwok`);
      const sources = (await go.run("list", "-m", "-f", "{{.Dir}}", module)).trim();
      const stages = STAGES.map((name) => readFile(join(sources, "kustomize/stage", `${name}.yaml`), "utf8"));
      await writeFile(join(target, "stages.yaml"), (await Promise.all(stages)).join("---\n"));
    }),
  );
}

/** Uses Kubernetes' own subfolders in place of the modules published from them. */
async function kubernetesModule(go: Go): Promise<string> {
  const { language, required } = await go.goMod("k8s.io/kubernetes", `v${KUBERNETES_VERSION}`);
  const staged = [...required].filter(
    ([name, version]) => name.startsWith("k8s.io/") && version === "v0.0.0",
  );
  const etcd = required.get("go.etcd.io/etcd/client/v3");
  if (etcd === undefined)
    throw new Error(`Kubernetes ${KUBERNETES_VERSION} names no version of etcd's client`);
  const lines = [
    "module isochrone.dev/test/kubernetes",
    `go ${language}`,
    `require k8s.io/kubernetes v${KUBERNETES_VERSION}`,
    // Pins the etcd server to the client's version, so that other modules keep theirs.
    `require go.etcd.io/etcd/server/v3 ${etcd}`,
    ...staged.map(([name]) => `replace ${name} => ${name} v0.${KUBERNETES_VERSION.slice("1.".length)}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** Without these flags the binaries report v0.0.0-master, which decides their features. */
function linkerFlags(): string {
  const [major, minor] = KUBERNETES_VERSION.split(".");
  const version = [`gitVersion=v${KUBERNETES_VERSION}`, `gitMajor=${major}`, `gitMinor=${minor}`];
  const packages = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"];
  const values = packages.flatMap((name) =>
    [...version, "gitTreeState=clean"].map((value) => `-X ${name}.${value}`),
  );
  return ["-s -w", ...values].join(" ");
}

/** Keeps intermediate files until the target exists, so that an interrupted build resumes. */
export async function inWorkshop(target: string, build: (go: Go) => Promise<void>): Promise<void> {
  const workshop = `${target}.building`;
  const go = new Go(workshop);
  await mkdir(go.folder, { recursive: true });
  await build(go);
  // A compiler of an interrupted run may still write there.
  await rm(workshop, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}

class Go {
  readonly folder: string;
  readonly #environment: NodeJS.ProcessEnv;

  constructor(workshop: string) {
    this.folder = join(workshop, "source");
    this.#environment = {
      ...process.env,
      GOMODCACHE: join(workshop, "modules"),
      GOCACHE: join(workshop, "compiled"),
      // Otherwise the module cache is read-only and can't be removed.
      GOFLAGS: "-mod=mod -buildvcs=false -modcacherw",
      GOTOOLCHAIN: "local",
      GOWORK: "off",
      CGO_ENABLED: "0",
    };
  }

  /** Runs at low priority, because a build takes minutes on every core. */
  run(...args: readonly string[]): Promise<string> {
    const options = { cwd: this.folder, env: this.#environment, timeoutMs: BUILD_WITHIN_MS };
    return run("nice", ["-n", "10", "go", ...args], options);
  }

  async source(module: string, version: string): Promise<string> {
    return (await this.#download(module, version)).Dir;
  }

  async goMod(module: string, version: string): Promise<GoMod> {
    const text = await readFile((await this.#download(module, version)).GoMod, "utf8");
    const required = text.matchAll(/^\s*(?:require )?([\w./-]+\.[\w./-]+) (v\S+)/gm);
    return {
      language: /^go (\S+)/m.exec(text)![1]!,
      required: new Map([...required].map(([, name, version]) => [name!, version!])),
    };
  }

  async #download(
    module: string,
    version: string,
  ): Promise<{ readonly GoMod: string; readonly Dir: string }> {
    const answer = await this.run("mod", "download", "-json", `${module}@${version}`);
    return JSON.parse(answer) as { GoMod: string; Dir: string };
  }
}

interface GoMod {
  /** Go version, which also decides runtime defaults. */
  readonly language: string;
  readonly required: ReadonlyMap<string, string>;
}
