// By recorded graphs `score` is asked what a running extender is asked. The whole chain runs in test/e2e/offline-scores.test.ts.
import { clusterSnapshot, node as graphNode, link } from "@isochrone/topology/testing";
import { describe, expect, test } from "vitest";
import { scoreDump } from "./score-dump.ts";
