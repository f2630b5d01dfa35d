from ._explain import explain as explain
