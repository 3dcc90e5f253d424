import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Distribution } from "./distribution.ts";

interface JavaProgram {
  readonly distribution: Distribution;
  readonly folder: string;
  readonly main: "kafka.Kafka" | "kafka.tools.StorageTool";
  readonly args: readonly string[];
  readonly heapMegabytes: number;
  /** Path of a class archive to write at exit, instead of using the existing one. */
  readonly archiveTo?: string | undefined;
}

// A test broker runs briefly, so the first compiler tier and the serial collector cost least.
const LEAN = [
  "-XX:+UseSerialGC",
  "-XX:TieredStopAtLevel=1",
  "-Xss512k",
  "-XX:MaxMetaspaceSize=160m",
  "-XX:ReservedCodeCacheSize=64m",
  // Otherwise a killed JVM leaves a file in /tmp.
  "-XX:-UsePerfData",
  "-XX:+ExitOnOutOfMemoryError",
];

export function javaArguments(program: JavaProgram): string[] {
  const { distribution, folder, main, args, heapMegabytes, archiveTo } = program;
  return [
    `-Xms${Math.min(64, heapMegabytes)}m`,
    `-Xmx${heapMegabytes}m`,
    ...LEAN,
    ...archiveOption(distribution.archivePath, archiveTo),
    "-Djava.awt.headless=true",
    `-Djava.io.tmpdir=${folder}`,
    `-Dlog4j2.configurationFile=${join(folder, "log4j2.properties")}`,
    "-cp",
    distribution.classPath,
    main,
    ...args,
  ];
}

function archiveOption(archivePath: string, archiveTo: string | undefined): string[] {
  if (archiveTo !== undefined) return [`-XX:ArchiveClassesAtExit=${archiveTo}`];
  return existsSync(archivePath) ? [`-XX:SharedArchiveFile=${archivePath}`] : [];
}

export const LOG4J_PROPERTIES = `status = error
appender.c.type = Console
appender.c.name = C
appender.c.layout.type = PatternLayout
appender.c.layout.pattern = [%d] %p %m (%c{1})%n
rootLogger.level = INFO
rootLogger.appenderRef.c.ref = C
`;
