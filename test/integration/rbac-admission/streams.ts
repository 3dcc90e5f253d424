import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { beforeAll, describe, expect, test } from "vitest";
import { MANIFEST_VALUES } from "../../harness/components/index.ts";
import { streamJob, streamTask } from "../../harness/streams.ts";
import type { AdmissionTestbed } from "./testbed.ts";

const { NAMESPACE: INSTALLATION, CANARY_NAMESPACE } = MANIFEST_VALUES;
/** A namespace whose pods may access the host. */
const PRIVILEGED = "site";
const PLAIN = "plain";
const ENFORCE = "pod-security.kubernetes.io/enforce";

const STAGE = {
  name: "stage",
  image: "example.com/stage:1",
  command: ["decode"],
  args: ["--fast"],
  env: [
    { name: "MODEL", value: "small" },
    { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    { name: "KEY", valueFrom: { secretKeyRef: { name: "model", key: "key" } } },
  ],
  envFrom: [{ configMapRef: { name: "settings" } }],
  volumeMounts: [{ name: "models", mountPath: "/models", readOnly: true }],
  securityContext: { runAsNonRoot: true, runAsUser: 1000, capabilities: { drop: ["ALL"] } },
};
const TEMPLATE = {
  serviceAccountName: "stream-gate",
  automountServiceAccountToken: false,
  securityContext: { fsGroup: 1000 },
  tolerations: [{ key: "cameras", operator: "Exists" }],
  volumes: [
    { name: "models", configMap: { name: "models" } },
    { name: "keys", secret: { secretName: "model" } },
    { name: "cache", emptyDir: {} },
    { name: "identity", projected: { sources: [{ serviceAccountToken: { audience: "s3", path: "t" } }] } },
  ],
  initContainers: [{ name: "fetch", image: "example.com/fetch:1", env: STAGE.env }],
  containers: [STAGE, { name: "proxy", image: "example.com/proxy:1" }],
};
const JOB = {
  name: "gate",
  tasks: [
    streamTask("decode", { template: { spec: TEMPLATE }, profiling: { command: ["bench"] } }),
    streamTask("detect"),
  ],
};
const HOST = { hostNetwork: true, containers: [{ name: "stage", image: "example.com/stage:1" }] };

interface PodFields {
  readonly task?: string;
  readonly kind?: "job" | "profile";
  readonly namespace?: string;
  readonly owner?: object;
  readonly labels?: Readonly<Record<string, string | undefined>>;
  readonly more?: object;
}

/** Host access: its name, a pod spec or security context with it, and the text of the denial. */
type Access = readonly [name: string, fields: object, named: string];

export function describeStreams(testbed: AdmissionTestbed): void {
  describe("of pods of StreamJobs", () => {
    const jobs = new Map<string, KubernetesObject>();
    const podsIn = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;

    beforeAll(async () => {
      const { cluster } = testbed;
      for (const [namespace, labels] of [
        [PRIVILEGED, { [ENFORCE]: "privileged" }],
        [PLAIN, {}],
        ["empty", {}],
      ] as const)
        await cluster.create({ ...KINDS.namespace, metadata: { name: namespace, labels } });
      for (const namespace of [PRIVILEGED, PLAIN]) {
        const tasks = [...JOB.tasks, streamTask("host", { template: { spec: HOST } })];
        const [job] = await cluster.create(streamJob(namespace, JOB.name, { tasks }));
        jobs.set(namespace, job!);
        await cluster.create(streamJob(namespace, "other"));
      }
    });

    function pod(spec: object, fields: PodFields = {}): object {
      const { task = "decode", kind = "job", namespace = PLAIN, owner, labels = {}, more = {} } = fields;
      const { apiVersion, kind: of, metadata } = jobs.get(namespace) ?? jobs.get(PLAIN)!;
      const job = { apiVersion, kind: of, name: metadata.name, uid: metadata.uid, controller: true };
      return {
        ...KINDS.pod,
        metadata: {
          name: `gate-${task}-1`,
          labels: {
            [`isochrone.dev/stream-${kind}`]: "gate",
            "isochrone.dev/stream-template": task,
            ...labels,
          },
          ownerReferences: [{ ...job, ...owner }],
          ...more,
        },
        spec,
      };
    }
    const stage = (change: object, first: object = STAGE): object => ({
      ...TEMPLATE,
      containers: [{ ...first, ...change }, TEMPLATE.containers[1]!],
    });
    const volume = (name: string, change: object): object => ({
      ...TEMPLATE,
      volumes: TEMPLATE.volumes.map((each) => (each.name === name ? { name, ...change } : each)),
    });
    const denial = (spec: object, fields: PodFields = {}): Promise<string> =>
      testbed.denialOf("scheduler-plugin", ["POST", podsIn(fields.namespace ?? PLAIN), pod(spec, fields)]);
    const verdict = (spec: object, fields: PodFields = {}): Promise<string> =>
      testbed.verdict(
        "scheduler-plugin",
        "POST",
        `${podsIn(fields.namespace ?? PLAIN)}?dryRun=All`,
        pod(spec, fields),
      );

    test("those that are as their template are created, gated, opened and deleted by the scheduler-plugin alone", async () => {
      const other = { name: "example.com/other" };
      const gated = { ...TEMPLATE, schedulingGates: [{ name: "isochrone.dev/stream" }, other] };
      const path = podsIn(PLAIN);
      expect(await testbed.denialOf("aggregator", ["POST", path, pod(gated)])).toContain("creates no pods");
      expect(await testbed.verdict("scheduler-plugin", "POST", path, pod(gated))).toBe("ok");
      const mine = `${path}/gate-decode-1`;
      const gates = (list: unknown): object => ({ spec: { schedulingGates: list } });
      expect(await testbed.denialOf("scheduler-plugin", ["PATCH", mine, gates(null)])).toContain(
        "spec.schedulingGates",
      );
      expect(await testbed.verdict("scheduler-plugin", "PATCH", mine, gates([other]))).toBe("ok");
      expect(await testbed.verdict("scheduler-plugin", "DELETE", mine)).toBe("ok");
      const measured = { kind: "profile", more: { name: "gate-decode-profile-1" } } as const;
      expect(await verdict(stage({ command: ["bench"] }), measured)).toBe("ok");
      const plain = { containers: [{ name: "stage", image: "example.com/stage:1" }] };
      expect(await verdict(plain, { task: "detect" })).toBe("ok");
    });

    test.each<[string, object, string]>([
      ["another image", stage({ image: "example.com/evil:1" }), "image or command of container stage"],
      ["another command", stage({ command: ["sh"] }), "image or command of container stage"],
      ["another argument", stage({ args: ["--fast", "--steal"] }), "image or command of container stage"],
      ["no command", stage({ command: undefined }), "image or command of container stage"],
      [
        "more environment",
        stage({ env: [...STAGE.env, { name: "NODE_OPTIONS", value: "x" }] }),
        "env of container stage",
      ],
      [
        "other environment",
        stage({ env: [{ name: "MODEL", value: "big" }, ...STAGE.env.slice(1)] }),
        "env of container stage",
      ],
      [
        "another Secret in the environment",
        stage({
          env: [
            ...STAGE.env.slice(0, 2),
            { name: "KEY", valueFrom: { secretKeyRef: { name: "root", key: "key" } } },
          ],
        }),
        "env of container stage",
      ],
      [
        "a whole Secret in the environment",
        stage({ envFrom: [{ secretRef: { name: "root" } }] }),
        "container stage",
      ],
      ["a hook", stage({ lifecycle: { postStart: { exec: { command: ["sh"] } } } }), "container stage"],
      ["a probe", stage({ livenessProbe: { exec: { command: ["sh"] } } }), "container stage"],
      [
        "another mount",
        stage({ volumeMounts: [{ name: "models", mountPath: "/bin" }] }),
        "volumeMounts of container stage",
      ],
      [
        "a user of root",
        stage({ securityContext: { ...STAGE.securityContext, runAsUser: 0, runAsNonRoot: false } }),
        "securityContext stage",
      ],
      [
        "its capabilities",
        stage({ securityContext: { runAsNonRoot: true, runAsUser: 1000 } }),
        "securityContext stage",
      ],
      [
        "a capability",
        stage({
          securityContext: {
            ...STAGE.securityContext,
            capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] },
          },
        }),
        "securityContext stage",
      ],
      [
        "another container",
        { ...TEMPLATE, containers: [...TEMPLATE.containers, { name: "evil", image: "x" }] },
        "spec.containers",
      ],
      ["one container less", { ...TEMPLATE, containers: [STAGE] }, "spec.containers"],
      [
        "another init container",
        { ...TEMPLATE, initContainers: [...TEMPLATE.initContainers, { name: "evil", image: "x" }] },
        "spec.initContainers",
      ],
      [
        "another image that starts first",
        { ...TEMPLATE, initContainers: [{ ...TEMPLATE.initContainers[0], image: "x" }] },
        "container fetch",
      ],
      [
        "a volume more",
        { ...TEMPLATE, volumes: [...TEMPLATE.volumes, { name: "root", secret: { secretName: "root" } }] },
        "volume root",
      ],
      ["another Secret", volume("keys", { secret: { secretName: "root" } }), "volume keys"],
      [
        "a claim in place of a ConfigMap",
        volume("models", { persistentVolumeClaim: { claimName: "x" } }),
        "volume models",
      ],
      [
        "another audience",
        volume("identity", {
          projected: { sources: [{ serviceAccountToken: { audience: "", path: "t" } }] },
        }),
        "volume identity",
      ],
      [
        "a Secret beside its token",
        {
          ...TEMPLATE,
          volumes: [
            ...TEMPLATE.volumes,
            { name: "kube-api-access-x", projected: { sources: [{ secret: { name: "root" } }] } },
          ],
        },
        "volume kube-api-access-x",
      ],
      [
        "another service account",
        { ...TEMPLATE, serviceAccountName: "stream-other" },
        "spec.serviceAccountName",
      ],
      [
        "its account's token",
        { ...TEMPLATE, automountServiceAccountToken: true },
        "spec.automountServiceAccountToken",
      ],
      ["another toleration", { ...TEMPLATE, tolerations: [{ operator: "Exists" }] }, "spec.tolerations"],
      ["another group", { ...TEMPLATE, securityContext: { fsGroup: 0 } }, "securityContext of the pod"],
      ["shared processes", { ...TEMPLATE, shareProcessNamespace: true }, "spec.shareProcessNamespace"],
    ])("one with %s than its template is denied", async (_, spec, named) => {
      expect(await denial(spec)).toContain(named);
    });

    const host: readonly Access[] = [
      ["the host's network", { hostNetwork: true }, "spec.hostNetwork"],
      ["the host's processes", { hostPID: true }, "spec.hostPID"],
      ["the host's IPC", { hostIPC: true }, "spec.hostIPC"],
      ["the host's files", { volumes: [{ name: "root", hostPath: { path: "/" } }] }, "volume root"],
      [
        "the host's files as the volume of a token",
        { volumes: [{ name: "kube-api-access-x", hostPath: { path: "/" } }] },
        "volume kube-api-access-x",
      ],
    ];
    const contexts: readonly Access[] = [
      ["privileges", { privileged: true }, "privileged"],
      ["a capability of the host", { capabilities: { add: ["SYS_ADMIN"] } }, "capabilities"],
      ["no seccomp profile", { seccompProfile: { type: "Unconfined" } }, "seccompProfile"],
      ["no AppArmor profile", { appArmorProfile: { type: "Unconfined" } }, "appArmorProfile"],
      ["another SELinux type", { seLinuxOptions: { type: "spc_t" } }, "seLinuxOptions"],
    ];
    const container = { name: "stage", image: "example.com/stage:1" };
    const hostAccess: readonly Access[] = [
      ...host.map(([name, spec, named]): Access => [name, { containers: [container], ...spec }, named]),
      ...contexts.flatMap(([name, securityContext, named]): Access[] => [
        [name, { containers: [{ ...container, securityContext }] }, named],
        [
          `${name} before it starts`,
          { containers: [container], initContainers: [{ ...container, name: "fetch", securityContext }] },
          named,
        ],
      ]),
      [
        "a port of the host",
        { containers: [{ ...container, ports: [{ containerPort: 80, hostPort: 80 }] }] },
        "hostPort of container stage",
      ],
    ];

    test.each(hostAccess)(
      "one with %s is denied where no label of the namespace allows it",
      async (_, spec, named) => {
        // Either policy may respond first.
        expect(await denial(spec, { task: "detect" })).toContain("a pod of a StreamJob m");
        // Whether or not its StreamJob exists.
        const ghost = { owner: { name: "ghost", uid: "1" }, labels: { "isochrone.dev/stream-job": "ghost" } };
        const said = await denial(spec, { task: "detect", ...ghost });
        expect(said).toContain(named);
        expect(said).toContain(`${ENFORCE}=privileged`);
      },
    );

    test("access to the host needs the namespace's label and the template", async () => {
      expect(await verdict(HOST, { task: "host", namespace: PRIVILEGED })).toBe("ok");
      expect(await denial(HOST, { task: "host" })).toContain(`${ENFORCE}=privileged`);
      expect(await denial(HOST, { task: "detect", namespace: PRIVILEGED })).toContain("spec.hostNetwork");
      for (const [, spec, named] of hostAccess.filter(([name]) => !name.startsWith("a port")))
        expect(await denial(spec, { task: "detect", namespace: PRIVILEGED })).toMatch(
          new RegExp(`${named}|securityContext stage|spec.initContainers`),
        );
    });

    test.each(["kube-system", "kube-public", INSTALLATION, CANARY_NAMESPACE])(
      "none is created in %s",
      async (namespace) => {
        // Nobody may create a pod with the label in a namespace without a StreamJob.
        expect(await verdict(TEMPLATE, { namespace })).toMatch(/no params found|no StreamJob in namespaces/);
        const fields = { namespace, labels: { "isochrone.dev/stream-template": undefined } };
        expect(await denial(TEMPLATE, fields)).toContain("no StreamJob in namespaces of Kubernetes");
      },
    );

    test("none is created where no StreamJob is, nor for another uid, name, namespace or task", async () => {
      expect(await verdict(TEMPLATE, { namespace: "empty" })).toContain("no params found");
      const must = "must be the StreamJob that is there now";
      expect(await denial(TEMPLATE, { owner: { uid: "1" } })).toContain(must);
      const { uid } = jobs.get(PRIVILEGED)!.metadata;
      expect(await denial(TEMPLATE, { owner: { uid } })).toContain(must);
      const renamed = { owner: { name: "ghost" }, labels: { "isochrone.dev/stream-job": "ghost" } };
      expect(await denial(TEMPLATE, renamed)).toContain(must);
      const taskLabel = "isochrone.dev/stream-template must name a task";
      expect(await denial(TEMPLATE, { task: "nothing" })).toContain(taskLabel);
      const plain = { containers: [container] };
      expect(await denial(plain, { task: "detect", kind: "profile" })).toContain(taskLabel);
      expect(await denial(TEMPLATE, { kind: "profile" })).toContain("image or command of container stage");
    });

    test.each<[string, PodFields]>([
      ["another name in its label", { labels: { "isochrone.dev/stream-job": "other" } }],
      ["no label for its template", { labels: { "isochrone.dev/stream-template": undefined } }],
      ["the labels of both kinds", { labels: { "isochrone.dev/stream-profile": "gate" } }],
      ["an owner that doesn't control it", { owner: { controller: false } }],
      [
        "two owners",
        {
          more: {
            ownerReferences: ["gate", "other"].map((name) => ({
              apiVersion: "isochrone.dev/v1alpha1",
              kind: "StreamJob",
              name,
              uid: name,
              controller: name === "gate",
            })),
          },
        },
      ],
    ])("one with %s is denied", async (_, fields) => {
      expect(await denial(TEMPLATE, fields)).toMatch(
        /has this one owner|must be the StreamJob|must be as the template/,
      );
    });

    test.each<[string, object]>([
      ["a node of its choice", { nodeName: "node-0" }],
      ["a priority of the system", { priorityClassName: "system-node-critical" }],
      ["another service account of its namespace", { serviceAccountName: "admin" }],
    ])("one with %s is denied, whatever its StreamJob says", async (_, change) => {
      const ghost = { owner: { name: "ghost", uid: "1" }, labels: { "isochrone.dev/stream-job": "ghost" } };
      expect(await denial({ ...TEMPLATE, ...change }, ghost)).toContain("service account default or one");
    });

    test("a label or an owner alone is none of a StreamJob's", async () => {
      for (const more of [{ labels: {} }, { ownerReferences: [] }])
        expect(await denial(TEMPLATE, { more })).toContain("creates no pods but canaries");
    });
  });
}
