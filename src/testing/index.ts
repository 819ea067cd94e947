/**
 * Test Layers for programs on this runtime: a scripted model, answers of the user, files and processes in memory, no
 * network, ids and time that repeat. Everything is a Layer that takes the place of the real one.
 *
 * @since 0.1.0
 */
export type { Conversation, ResultView } from "../provider/Conversation.ts"
export * as Scenario from "../provider/Scenario.ts"
export { fromText as scenarioFromText, fromValue as scenarioFromValue } from "../provider/ScenarioDocument.ts"
export type { ScenarioDocument } from "../provider/ScenarioDocument.ts"
export { ScriptedModel } from "../provider/ScriptedModel.ts"
export type { ScriptedModelService, ScriptedRequest } from "../provider/ScriptedModel.ts"
export { ScriptedModels } from "../provider/ScriptedModels.ts"
export type { ScriptedModelsService } from "../provider/ScriptedModels.ts"
export { layerDeterministic } from "./Deterministic.ts"
export { FakeProcesses } from "./FakeProcesses.ts"
export type { FakeOutput, FakeProcess, FakeProcessesService, FakeProgram, StartedProcess } from "./FakeProcesses.ts"
export { makeGate } from "./Gate.ts"
export type { Gate } from "./Gate.ts"
export { MemoryFiles } from "./MemoryFiles.ts"
export type { MemoryFilesService } from "./MemoryFiles.ts"
export { NoNetwork } from "./NoNetwork.ts"
export type { NoNetworkService } from "./NoNetwork.ts"
export { RecordingPrompter } from "./RecordingPrompter.ts"
export type { AskedPermission, PromptAnswers, RecordingPrompterService } from "./RecordingPrompter.ts"
export { layerModels, testModel } from "./StaticModels.ts"
export { layerTemporaryWorkspace } from "./TemporaryWorkspace.ts"
