export { CHECKSUMS, commonFixture, fixtureWorkflow } from "./common-fixture.ts";
export { channel, link, links, node, workload } from "./problems.ts";
