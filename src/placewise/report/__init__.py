"""Results as text, HTML pages, figures and SARIF. Each result's ``to_dict()`` gives its JSON."""
