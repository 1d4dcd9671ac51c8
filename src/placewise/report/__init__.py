"""Results as people read them: text, figures and SARIF. Each result itself knows its JSON."""
