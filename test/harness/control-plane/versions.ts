// ISOCHRONE_TEST_KUBERNETES is a version ("1.35.8") or minor ("1.35") from this list.
const NEWEST = {
  "1.33": "1.33.13",
  "1.34": "1.34.4",
  "1.35": "1.35.8",
  "1.36": "1.36.3",
  "1.37": "1.37.2",
} as const;

export const KWOK_VERSION = "0.8.0";
export const KUBERNETES_VERSION = kubernetesVersion(process.env["ISOCHRONE_TEST_KUBERNETES"] ?? "1.35");

export function kubernetesVersion(asked: string): string {
  if (/^1\.\d+\.\d+$/.test(asked)) return asked;
  const version: string | undefined = NEWEST[asked as keyof typeof NEWEST];
  if (version !== undefined) return version;
  const minors = Object.keys(NEWEST).join(", ");
  throw new Error(
    `ISOCHRONE_TEST_KUBERNETES must be a version like 1.35.8 or one of ${minors}, got "${asked}"`,
  );
}
