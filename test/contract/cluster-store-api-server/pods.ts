import type { KubernetesObject } from "@isochrone/kubernetes";

const MANAGERS = 4;

/** A pod of realistic size: 8 KB as JSON, half of it managedFields. */
export function largePod(name: string, namespace: string): KubernetesObject {
  const env = Array.from({ length: 40 }, (_, i) => ({
    name: `SETTING_${i}`,
    value: `${name}-${"x".repeat(40)}-${i}`,
  }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels: { app: "web", "pod-template-hash": "5d4f8c7b9" },
      annotations: Object.fromEntries(
        Array.from({ length: MANAGERS }, (_, i) => [`example.com/note-${i}`, "y".repeat(80)]),
      ),
    },
    spec: {
      automountServiceAccountToken: false,
      containers: [{ name: "main", image: "registry.example.com/team/web:1.2.3", env }],
    },
  };
}
