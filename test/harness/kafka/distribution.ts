import { existsSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cachePath, makeOnce } from "../common/cache.ts";
import { run, versionOf } from "../common/commands.ts";
import { supportFrom, type Support } from "../common/support.ts";

const KAFKA_VERSION = "4.4.0";
const LOG4J_VERSION = "2.25.5";
const LEAST_JAVA = 17;
const DOWNLOAD_DEADLINE_MS = 600_000;

// Maven Central lacks kafka-tools-api 4.4.0 (not needed). kafka_2.13 brings no slf4j binding.
const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dev.isochrone</groupId><artifactId>kafka-for-tests</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${KAFKA_VERSION}</version>
      <exclusions><exclusion><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId></exclusion></exclusions>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>${LOG4J_VERSION}</version>
    </dependency>
  </dependencies>
</project>
`;

export interface Distribution {
  readonly classPath: string;
  /** Archive of parsed classes, which speeds up a broker's start. May not exist yet. */
  readonly archivePath: string;
}

const folder = cachePath(`kafka-${KAFKA_VERSION}`);

/** Whether a broker can run here: Java, openssl, and the jars or Maven to download them. */
export function kafkaSupport(): Support {
  const missing: string[] = [];
  const java = javaVersion();
  if (java === null) missing.push("there is no java on the path");
  else if (Number.parseInt(java, 10) < LEAST_JAVA)
    missing.push(`java must be at least ${LEAST_JAVA}, got ${java}`);
  if (!existsSync(folder) && versionOf("mvn", "-v") === null)
    missing.push("there is no mvn on the path to fetch the jars");
  if (versionOf("openssl", "version") === null) missing.push("there is no openssl on the path");
  return supportFrom(`Kafka ${KAFKA_VERSION}`, missing);
}

export async function kafkaDistribution(): Promise<Distribution> {
  await makeOnce(folder, fetchJars);
  const jars = (await readdir(folder)).filter((name) => name.endsWith(".jar")).toSorted();
  return {
    // A class archive is valid only for the exact class path of its creation.
    classPath: jars.map((name) => join(folder, name)).join(":"),
    archivePath: cachePath(`kafka-${KAFKA_VERSION}-java-${javaVersion() ?? "none"}.jsa`),
  };
}

/** Maven keeps downloads in its own repository, so that the next run resumes an interrupted one. */
async function fetchJars(target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  const pom = join(target, "pom.xml");
  await writeFile(pom, POM);
  const copy = ["dependency:copy-dependencies", `-DoutputDirectory=${target}`, "-DincludeScope=runtime"];
  await run("mvn", ["-B", "-q", "-f", pom, ...copy], { timeoutMs: DOWNLOAD_DEADLINE_MS });
}

function javaVersion(): string | null {
  return /version "([^"]+)"/.exec(versionOf("java", "-version") ?? "")?.[1] ?? null;
}
