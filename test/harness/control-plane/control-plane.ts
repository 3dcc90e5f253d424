import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../common/commands.ts";
import { freePort } from "../common/free-port.ts";
import { ReapedFolder } from "../common/reaped-folder.ts";
import { StartError } from "../common/restartable-process.ts";
import { newPrivateKey } from "../common/x509.ts";
import type { ApiClient, Credentials } from "./api-client.ts";
import { auditPolicy, FILES, type Ports } from "./arguments.ts";
import { readAuditLog, type AuditEvent } from "./audit.ts";
import { ClusterObjects } from "./cluster-objects.ts";
import { Components, type Component } from "./components.ts";
import { CutProxy, type CutProxyOptions } from "./cut-proxy.ts";
import { compact } from "./etcd.ts";
import { Identities } from "./identities.ts";
import type { Identity } from "./kubeconfig.ts";
import { prepareControlPlane, type OptionalComponent, type Programs } from "./programs.ts";
import { bindingObjects, type Rule } from "./access.ts";
import { throttle } from "./throttle.ts";
import {
  requestToken,
  type ServiceAccountRef,
  type ServiceAccountToken,
  type TokenOptions,
} from "./tokens.ts";

export interface ControlPlaneOptions {
  /** Without KWOK nodes are Ready at once and `bindAndRun` stands in for the kubelet. @default [] */
  readonly components?: readonly OptionalComponent[];
  /** A KubeSchedulerConfiguration. @KUBECONFIG@ becomes the path of the scheduler's kubeconfig. */
  readonly schedulerConfig?: string;
  /** true: level Metadata; "RequestResponse": includes bodies. @default false */
  readonly audit?: boolean | "RequestResponse";
  readonly apiServerFlags?: readonly string[];
  readonly controllerManagerFlags?: readonly string[];
  readonly schedulerFlags?: readonly string[];
}

const HOST = "127.0.0.1";
const START_TRIES = 4;
const KUBECTL_WITHIN_MS = 60_000;
const AUDIT_WITHIN_MS = 5000;

/** Resolves when all components are ready. The first call builds them, which takes minutes. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  return ControlPlane.start(await prepareControlPlane(options.components ?? []), options);
}

/** Files are in a temporary folder, removed on close and when the creating process ends. */
export class ControlPlane extends ClusterObjects {
  readonly url: string;
  readonly ca: string;
  readonly caFile: string;
  readonly kubeconfig: string;
  readonly #components: Components;
  readonly #folder: ReapedFolder;
  readonly #ports: Ports;
  readonly #identities: Identities;
  readonly #kubectl: string;

  static async start(programs: Programs, options: ControlPlaneOptions): Promise<ControlPlane> {
    for (let attempt = 1; ; attempt++) {
      const folder = new ReapedFolder("isochrone-control-plane");
      try {
        const controlPlane = new ControlPlane(folder, programs, await freePorts(), options);
        await controlPlane.#components.startAll();
        if (controlPlane.#components.has("controller-manager"))
          await controlPlane.#untilPodsAreWelcome("default");
        return controlPlane;
      } catch (error) {
        await folder.remove();
        // Another process may take the free port before the component binds it.
        if (!(error instanceof StartError && error.portTaken) || attempt === START_TRIES) throw error;
      }
    }
  }

  private constructor(folder: ReapedFolder, programs: Programs, ports: Ports, options: ControlPlaneOptions) {
    const identities = new Identities(join(folder.path, "kubeconfigs"));
    const url = `https://${HOST}:${ports.apiServer}`;
    const admin = identities.certificateOf({ user: "admin", groups: ["system:masters"] });
    super(identities.client(admin, url), options.components?.includes("kwok") ?? false);
    this.url = url;
    this.ca = identities.authority.certificate;
    this.caFile = join(folder.path, FILES.ca);
    this.kubeconfig = identities.kubeconfig(admin, url);
    this.#folder = folder;
    this.#ports = ports;
    this.#identities = identities;
    this.#kubectl = programs.kubectl;
    this.#writeFiles(options);
    const fileOf = (user: string, groups: readonly string[] = []): string =>
      identities.kubeconfig(identities.certificateOf({ user, groups }), url);
    const visitorOf = (port: number): ApiClient => identities.client({}, `https://${HOST}:${port}`);
    const testbed = {
      programs,
      folder: folder.path,
      environment: folder.environment,
      ports,
      kubeconfigs: {
        controllerManager: fileOf("system:kube-controller-manager"),
        scheduler: fileOf("system:kube-scheduler"),
        kwok: fileOf("kwok", ["system:masters"]),
      },
      clients: {
        etcd: `http://${HOST}:${ports.etcd}`,
        apiServer: this.api,
        controllerManager: visitorOf(ports.controllerManager),
        scheduler: visitorOf(ports.scheduler),
        kwok: `http://${HOST}:${ports.kwok}`,
      },
    };
    this.#components = new Components(testbed, {
      components: options.components ?? [],
      audit: (options.audit ?? false) !== false,
      apiServerFlags: options.apiServerFlags ?? [],
      controllerManagerFlags: options.controllerManagerFlags ?? [],
      schedulerFlags: options.schedulerFlags ?? [],
      schedulerConfig: options.schedulerConfig,
    });
  }

  get folder(): string {
    return this.#folder.path;
  }

  /** @param server URL, for example of a proxy. @default the API server's own URL */
  async kubeconfigOf(identity: Identity, server = this.url): Promise<string> {
    return this.#identities.kubeconfig(await this.#credentialsOf(identity), server);
  }

  async clientOf(identity: Identity, server = this.url): Promise<ApiClient> {
    return this.#identities.client(await this.#credentialsOf(identity), server);
  }

  /** Returns a real token (TokenRequest). Creates the account if it does not exist. */
  async serviceAccountToken(
    account: ServiceAccountRef,
    options: TokenOptions = {},
  ): Promise<ServiceAccountToken> {
    await this.createNamespace(account.namespace);
    await this.createUnlessThere({ apiVersion: "v1", kind: "ServiceAccount", metadata: { ...account } });
    return requestToken(this, account, options);
  }

  /** Grants RBAC permissions in one namespace, or in all and for cluster-scoped objects. */
  async grant(identity: Identity, rules: readonly Rule[], namespace?: string): Promise<void> {
    await this.create(bindingObjects(`test-${randomUUID()}`, identity, rules, namespace));
  }

  /**
   * Answers 429 with Retry-After by priority and fairness; open watches stay. Returns a function that ends
   * it.
   */
  throttle(identity: Identity): Promise<() => Promise<void>> {
    return throttle(this, identity);
  }

  /** Waits for the default service account if the controller-manager runs, because pods need it. */
  override async createNamespace(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await super.createNamespace(name, labels);
    if (this.#components.has("controller-manager")) await this.#untilPodsAreWelcome(name);
  }

  async auditEvents(keep: (event: AuditEvent) => boolean = () => true): Promise<AuditEvent[]> {
    const path = join(this.folder, FILES.auditLog);
    const wasStarting = (atMs: number): boolean => this.#components.of("api-server").wasStarting(atMs);
    // The log contains every earlier response before this one.
    const mark = `/version?mark=${randomUUID()}`;
    await this.request("GET", mark);
    for (const deadline = performance.now() + AUDIT_WITHIN_MS; performance.now() < deadline;) {
      let isMarked = false;
      const events = await readAuditLog(path, wasStarting, (event) => {
        if (event.path === mark) isMarked = true;
        return !event.path.startsWith("/version?mark=") && keep(event);
      });
      if (isMarked) return events;
    }
    throw new Error(`no audit event for a request in ${path} within ${AUDIT_WITHIN_MS} ms`);
  }

  /**
   * Drops old revisions and restarts the API server, so that older versions get 410. Returns the revision.
   */
  async compact(): Promise<number> {
    await this.kill("api-server");
    const revision = await compact(`http://${HOST}:${this.#ports.etcd}`);
    await this.startApiServer();
    return revision;
  }

  /** Copies etcd's data. The returned function restores it: later changes are lost and revisions go back. */
  async backUp(): Promise<() => Promise<void>> {
    const [data, copy] = [join(this.folder, "etcd"), join(this.folder, "etcd-backup")];
    const replaced = async (from: string, to: string): Promise<void> => {
      await this.stopApiServer();
      await this.stop("etcd");
      await rm(to, { recursive: true, force: true });
      await cp(from, to, { recursive: true });
      await this.start("etcd");
      await this.startApiServer();
    };
    await replaced(data, copy);
    return () => replaced(copy, data);
  }

  startCutProxy(options: CutProxyOptions = {}): Promise<CutProxy> {
    return CutProxy.start(this.#ports.apiServer, options);
  }

  /** Stops in order, like an update. Data and port stay for the next start. */
  stopApiServer(): Promise<void> {
    return this.stop("api-server");
  }

  startApiServer(): Promise<void> {
    return this.start("api-server");
  }

  restartApiServer(): Promise<void> {
    return this.#components.restart("api-server");
  }

  async restartScheduler(schedulerConfig?: string): Promise<void> {
    if (schedulerConfig !== undefined) this.#components.writeSchedulerConfig(schedulerConfig);
    await this.#components.restart("scheduler");
  }

  start(component: Component): Promise<void> {
    return this.#components.of(component).start();
  }

  stop(component: Component): Promise<void> {
    return this.#components.stop(component);
  }

  kill(component: Component): Promise<void> {
    return this.#components.of(component).kill();
  }

  pause(component: Component): Promise<void> {
    return this.#components.of(component).pause();
  }

  resume(component: Component): void {
    this.#components.of(component).resume();
  }

  /** Returns null if the component does not run. */
  pid(component: Component): number | null {
    return this.#components.of(component).pid;
  }

  log(component: Component): string {
    return this.#components.of(component).log;
  }

  usage(component: Component): { readonly cpuSeconds: number; readonly residentBytes: number } {
    return this.#components.usage(component);
  }

  metrics(component: "api-server" | "controller-manager" | "scheduler"): Promise<string> {
    return this.#components.metrics(component);
  }

  kubectl(...args: readonly string[]): Promise<string> {
    const env = { ...this.#folder.environment, KUBECONFIG: this.kubeconfig, HOME: this.folder };
    return run(this.#kubectl, args, { env, timeoutMs: KUBECTL_WITHIN_MS });
  }

  /** Kills all processes and deletes all files. A second call waits for the first. */
  close(): Promise<void> {
    this.#identities.close();
    return this.#folder.remove();
  }

  async #credentialsOf(identity: Identity): Promise<Credentials> {
    if ("user" in identity) return this.#identities.certificateOf(identity);
    const { serviceAccount, validForSeconds } = identity;
    const options = validForSeconds === undefined ? {} : { validForSeconds };
    return { token: (await this.serviceAccountToken(serviceAccount, options)).token };
  }

  #writeFiles({ audit = false }: ControlPlaneOptions): void {
    const write = (name: string, text: string): void =>
      writeFileSync(join(this.folder, name), text, { mode: 0o600 });
    const hosts = [HOST, "localhost", "kubernetes", "kubernetes.default.svc"];
    const server = this.#identities.authority.issue({ commonName: "control-plane", hosts });
    write(FILES.ca, this.ca);
    write(FILES.serverCertificate, server.certificate);
    write(FILES.serverKey, server.key);
    write(FILES.serviceAccountKey, newPrivateKey());
    write(FILES.auditPolicy, auditPolicy(audit === "RequestResponse" ? audit : "Metadata"));
  }

  async #untilPodsAreWelcome(namespace: string): Promise<void> {
    await this.waitFor("serviceaccounts", (all) => all.some(({ metadata }) => metadata.name === "default"), {
      namespace,
    });
  }
}

async function freePorts(): Promise<Ports> {
  const taken = new Set<number>();
  const next = (): Promise<number> => freePort(HOST, taken);
  return {
    etcd: await next(),
    etcdPeer: await next(),
    apiServer: await next(),
    controllerManager: await next(),
    scheduler: await next(),
    kwok: await next(),
  };
}
